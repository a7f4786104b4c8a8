import type { Entry, ShownCall } from "./screen-state.ts";

/** A finished thing as lines to be read aloud or kept: words instead of marks. */
export function entryLines(entry: Entry): string[] {
  switch (entry.kind) {
    case "user":
      return [];
    case "assistant":
      return entry.text.split("\n");
    case "reasoning":
      return entry.text.split("\n").map((line) => `Thinking: ${line}`);
    case "call":
      return callLines(entry.call);
    case "notice":
      return [
        `${entry.level === "info" ? "Note" : entry.level === "warning" ? "Warning" : "Error"}: ${entry.text}`,
      ];
    case "block":
      return [`${entry.title}:`, ...entry.lines.map((line) => `  ${line}`)];
  }
}

function callLines(call: ShownCall): string[] {
  const files = call.files.map(
    ({ mark, path, added, removed }) => `  ${mark} ${path} (+${added} -${removed})`,
  );
  const more = call.moreFiles > 0 ? [`  and ${call.moreFiles} more`] : [];
  return [`Tool ${call.name}: ${endOf(call)}`, ...files, ...more];
}

/** What calls are said to be that were open when the turn ended: these say it all. */
const LEFT_OPEN: ReadonlySet<string> = new Set(["stopped", "not run"]);

function endOf({ standing, lineCount }: ShownCall): string {
  const wrote = lineCount > 0 ? `, ${lineCount} lines of output` : "";
  if (standing.state === "completed")
    return standing.isError ? `failed: ${standing.said}` : `finished${wrote}`;
  if (standing.state !== "resolved") return "not finished";
  return LEFT_OPEN.has(standing.reason) ? standing.reason : `not run: ${standing.reason}`;
}
