import type { SampleCall } from "./sample-call.ts";

/** A call as one line for a shell. With tokens it needs one in `$TOKEN`. */
export function curlLine(
  { tool, operation, input }: SampleCall,
  { url, callers }: { url: string; callers: "open" | "token" },
): string {
  const body = { tool_id: tool, ...(operation !== undefined && { operation }), parameters: input };
  return [
    `curl -s ${url}/v1/tools/invoke`,
    ...(callers === "token" ? ['-H "authorization: Bearer $TOKEN"'] : []),
    "-H 'content-type: application/json'",
    `-d ${quoted(JSON.stringify(body))}`,
  ].join(" ");
}

/** For a shell, whatever is in it. */
function quoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}
