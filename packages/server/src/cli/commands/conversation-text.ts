import type { OpenBatch, ToolResultTurn, ToolUseTurn, Turn } from "@sallyport/loop";
import { resultsByCall } from "../../results-by-call.ts";
import { relativeText } from "../duration-text.ts";
import { hint } from "../invoked-as.ts";
import { type Output, visible } from "../io.ts";
import { sizeText } from "../parse-size.ts";
import type { ShownConversation } from "./conversation-document.ts";

const RESULT_LINES = 12;
const LINE_CHARS = 400;
const WHO = { user: "You", assistant: "Model", reasoning: "Model, thinking" } as const;
const COLOURS = {
  done: "green",
  failed: "red",
  "no result": "yellow",
  "waits for its result": "yellow",
  "was coming in": "yellow",
} as const satisfies Record<CallState, string>;

interface Look {
  /** Results whole. */
  full: boolean;
  now: number;
  style: Pick<Output, "style">;
}

/** A conversation as a person reads it. Whatever others wrote is indented, so that it cannot look like a line of ours. */
export function conversationText(shown: ShownConversation, look: Look): string {
  const entries = entriesOf(shown.turns, shown.batch).flatMap((entry) => {
    const lines = entryLines(entry, look);
    return lines.length > 0 ? ["", ...lines] : [];
  });
  return [...heading(shown, look), ...entries].join("\n");
}

function heading({ outline, batch, output }: ShownConversation, { now, style }: Look): string[] {
  const { conversationId, title, model, cwd, createdAt, updatedAt, turns } = outline;
  const when = (at: number) => `${new Date(at).toISOString()} (${relativeText(at, now)})`;
  const lines = [
    `  began with  ${title}`,
    `  model       ${model}`,
    `  folder      ${cwd}`,
    `  started     ${when(createdAt)}`,
    `  last used   ${when(updatedAt)}`,
    `  messages    ${turns}`,
    ...(output.files > 0 ? [`  output      ${output.files} kept, ${sizeText(output.bytes)}`] : []),
    ...(batch
      ? [`  open        ${openText(batch)}: ${hint(`sallyport chat --resume ${conversationId}`)}`]
      : []),
  ];
  return [style.style("bold", oneLine(conversationId)), ...lines.map(oneLine)];
}

function openText({ phase, calls }: NonNullable<ShownConversation["batch"]>): string {
  if (phase === "streaming") return "an answer has not come in completely";
  const known = calls.filter(({ result }) => result).length;
  return `${known} of ${calls.length} calls have a result`;
}

function entryLines(entry: Entry, look: Look): string[] {
  if (entry.kind === "words") {
    const { kind, text } = entry.turn;
    if (text.trim() === "") return [];
    return [look.style.style(kind === "reasoning" ? "dim" : "bold", WHO[kind]), ...indented(text)];
  }
  if (entry.kind === "result") {
    const { name, id, content, isError } = entry.turn;
    return [oneLine(`Result of ${name} (${id}), ${isError ? "failed" : "done"}`), ...cut(content, look)];
  }
  const { name, id, state, arguments: given, content } = entry;
  const head = `${oneLine(`Call ${name} (${id})`)}: ${look.style.style(COLOURS[state], state)}`;
  const result = content === undefined || content === "" ? [] : ["  →", ...cut(content, look)];
  return [head, ...cut(given, look), ...result];
}

/** The first lines of what may be very long. */
function cut(text: string, { full }: Look): string[] {
  const lines = indented(text);
  if (full) return lines;
  const shown = lines.slice(0, RESULT_LINES).map((line) => shortened(line));
  const left = lines.length - shown.length;
  return left === 0 ? shown : [...shown, `  … ${left} more ${left === 1 ? "line" : "lines"} (--full)`];
}

function shortened(line: string): string {
  if (line.length <= LINE_CHARS) return line;
  const kept = line.slice(0, LINE_CHARS).replace(/[\ud800-\udbff]$/, "");
  return `${kept}… ${line.length - kept.length} more characters (--full)`;
}

function indented(text: string): string[] {
  const lines = text.replaceAll("\r\n", "\n").replace(/\n+$/, "").split("\n");
  return lines.map((line) => `  ${visible(line)}`.trimEnd());
}

/** A name with line breaks in it must not look like another line. */
function oneLine(text: string): string {
  return visible(text.replaceAll(/[\n\t]/g, " "));
}

/** What became of a tool call, as far as the conversation knows. */
type CallState = "done" | "failed" | "no result" | "waits for its result" | "was coming in";

/** An entry of the history as people read it: a result stands with its call. */
type Entry =
  | { kind: "words"; turn: Exclude<Turn, ToolUseTurn | ToolResultTurn> }
  | {
      kind: "call";
      id: string;
      name: string;
      arguments: string;
      at: number;
      state: CallState;
      content?: string;
    }
  | { kind: "result"; turn: ToolResultTurn };

/** A history with its open batch, in order. */
function entriesOf(turns: readonly Turn[], batch: OpenBatch | undefined): Entry[] {
  const results = resultsByCall(turns);
  const taken = new Set(results.values());
  const entries = turns.flatMap((turn): Entry[] => {
    if (turn.kind === "tool_use") return [callEntry(turn, { result: results.get(turn), batch })];
    if (turn.kind !== "tool_result") return [{ kind: "words", turn }];
    return taken.has(turn) ? [] : [{ kind: "result", turn }];
  });
  return [...entries, ...comingIn(batch)];
}

function callEntry(
  { id, name, arguments: given, at }: ToolUseTurn,
  { result, batch }: { result: ToolResultTurn | undefined; batch: OpenBatch | undefined },
): Entry {
  const open = result ? undefined : batch?.calls.find((call) => call.id === id);
  const known = result ?? open?.result;
  const call = { kind: "call", id, name, arguments: given, at } as const;
  if (known) return { ...call, state: known.isError ? "failed" : "done", content: known.content };
  return { ...call, state: open ? "waits for its result" : "no result" };
}

/** What a batch that was never sealed holds is in no history yet. */
function comingIn(batch: OpenBatch | undefined): Entry[] {
  if (batch?.phase !== "streaming") return [];
  const { text, openedAt: at, calls } = batch;
  const words: Entry[] = text === "" ? [] : [{ kind: "words", turn: { kind: "assistant", text, at } }];
  const begun = calls.map(({ id, name, arguments: given }): Entry => {
    return { kind: "call", id, name, arguments: given, at, state: "was coming in" };
  });
  return [...words, ...begun];
}
