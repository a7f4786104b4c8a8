import type { SampleCall } from "./sample-call.ts";

/** A call as one line for a shell. With tokens it needs one in `$TOKEN`; of a gateway it is a run. */
export function curlLine(
  { tool, operation, input }: SampleCall,
  { url, callers, isGateway = false }: { url: string; callers: "open" | "token"; isGateway?: boolean },
): string {
  const body = isGateway
    ? { input }
    : { tool_id: tool, ...(operation !== undefined && { operation }), parameters: input };
  return [
    `curl -s ${url}/v1/tools/${isGateway ? `${tool}:run` : "invoke"}`,
    ...(callers === "token" ? ['-H "authorization: Bearer $TOKEN"'] : []),
    "-H 'content-type: application/json'",
    `-d ${quoted(JSON.stringify(body))}`,
  ].join(" ");
}

/** For a shell, whatever is in it. */
function quoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}
