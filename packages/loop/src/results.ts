import { type CallAnswer, entryOf, type Failure, type Issue, parseJsonObject } from "@sallyport/protocol";
import type { Spill } from "./context.ts";
import { MESSAGES } from "./settings.ts";
import type { LoopTool } from "./tools.ts";

/** Ends an output that was cut. */
export const TRUNCATION_MARKER = "\n\n... [output truncated]";

const encoder = new TextEncoder();
const decoder = new TextDecoder();

/**
 * The text in at most so many UTF-8 bytes, the marker included; no character is split (FR-OUT-04a). Where not even
 * the marker fits, as much of it as does.
 */
export function truncateOutput(text: string, effectiveMaxBytes: number): string {
  const max = room(effectiveMaxBytes);
  if (Buffer.byteLength(text) <= max) return text;
  if (max <= TRUNCATION_MARKER.length) return TRUNCATION_MARKER.slice(0, max);
  return firstBytes(text, max - TRUNCATION_MARKER.length) + TRUNCATION_MARKER;
}

/**
 * Beginning and end of a text, with a note between them that says how many bytes are left out; all of it in at most
 * `maxBytes`. A note that does not fit is cut itself.
 */
export function headAndTail(text: string, maxBytes: number, note: (omittedBytes: number) => string): string {
  const max = room(maxBytes);
  const total = Buffer.byteLength(text);
  if (total <= max) return text;
  const longest = note(total);
  const kept = max - Buffer.byteLength(longest);
  if (kept <= 0) return firstBytes(longest, max);
  const head = firstBytes(text, Math.ceil(kept / 2));
  const tail = lastBytes(text, Math.floor(kept / 2));
  const middle = note(total - Buffer.byteLength(head) - Buffer.byteLength(tail));
  // A note may be longer for a smaller number, whatever its author thought.
  return firstBytes(head + middle + tail, max);
}

/** As many whole characters from the beginning as fit. Where the slice cuts a pair, its first half does not fit. */
function firstBytes(text: string, maxBytes: number): string {
  if (text.length <= maxBytes && Buffer.byteLength(text) <= maxBytes) return text;
  const { read } = encoder.encodeInto(text.slice(0, maxBytes), new Uint8Array(maxBytes));
  return text.slice(0, read);
}

/** As many whole characters from the end as fit. A slice of that many code units is never fewer bytes. */
function lastBytes(text: string, maxBytes: number): string {
  if (maxBytes <= 0) return "";
  const bytes = encoder.encode(text.slice(-maxBytes));
  let start = Math.max(0, bytes.length - maxBytes);
  while (start < bytes.length && isContinuation(bytes[start])) start += 1;
  return decoder.decode(bytes.subarray(start));
}

function isContinuation(byte: number | undefined): boolean {
  return byte !== undefined && (byte & 0xc0) === 0x80;
}

function room(bytes: number): number {
  return Number.isNaN(bytes) ? 0 : Math.max(0, Math.floor(Math.min(bytes, Number.MAX_SAFE_INTEGER)));
}

const LEAST_BYTES = 40;
const NO_ROOM = {
  done: "Done; no room left for the result",
  failed: "Failed; no room left to say why",
} as const;

/** Whose result it is, and where one that is too long can be kept. */
interface Spilling {
  spill?: Spill | undefined;
  conversationId: string;
  callId?: string | undefined;
}

/**
 * A result as long as the model has room for (FR-OUT-04). One that is longer is kept whole beside the conversation where
 * that is possible, and its head and tail are shown.
 */
export async function fitResult(told: ResultText, maxBytes: number, where?: Spilling): Promise<string> {
  const { content } = told;
  if (told.whole || Buffer.byteLength(content) <= maxBytes) return content;
  // Nothing at all would be taken for success with nothing to say.
  if (maxBytes < LEAST_BYTES) return told.isError ? NO_ROOM.failed : NO_ROOM.done;
  const { spill, conversationId = "", callId } = where ?? {};
  if (!spill || callId === undefined) return truncateOutput(content, maxBytes);
  const name = await spill.keep({ conversationId, callId, text: content }).catch(() => undefined);
  if (name === undefined) return truncateOutput(content, maxBytes);
  return headAndTail(
    content,
    maxBytes,
    (omitted) => `${TRUNCATION_MARKER} ${omitted} bytes left out here. ${spill.hint(name)}\n\n`,
  );
}

/** What the model is told of a call. */
export interface ResultText {
  isError: boolean;
  content: string;
  /** True for a tool's own JSON error: no marker, no prefix, no cut (FR-ERR-JSON-TOOL-02). */
  whole: boolean;
}

/** Words that stand alone, because they are laid down to the letter. */
const FIXED: ReadonlySet<string> = new Set(Object.values(MESSAGES));
const MOST_ISSUES = 8;
/** What the model needs to know of these is in the message and in what was printed. */
const SELF_EXPLAINING: ReadonlySet<string> = new Set(["E3907", "E3108"]);

/** What the model is told of a call to this tool, in the tool's own form where it has one. Total. */
export function resultForModel(answer: CallAnswer, tool: Pick<LoopTool, "name" | "textOf">): ResultText {
  if (answer.status !== "success") {
    return failureText(answer.error, tool.name, { tool: answer.tool, tookMs: answer.usage.durationMs });
  }
  const { result } = answer;
  let content: string | undefined;
  try {
    content = tool.textOf?.(result);
  } catch {
    // It has run: the model is told what came of it, if not as nicely.
  }
  content ??= typeof result === "string" ? result : JSON.stringify(result);
  return { isError: false, whole: false, content };
}

interface FailedRun {
  /** The engine's id of the tool, which its messages begin with. */
  tool?: string;
  tookMs?: number;
}

/** A failure as the model reads it, whether it comes from the engine or from planning. Total. */
export function failureText(error: Failure, name: string, run: FailedRun = {}): ResultText {
  const own = ownWords(error.message, run.tool ?? name);
  if (error.code === "E3907" && parseJsonObject(own)) return { isError: true, whole: true, content: own };
  const text = sentence(error, name, { own, tookMs: run.tookMs });
  const lines = [text, ...issueLines(error.issues), ...printedBy(error), ...adviceOf(error)];
  return { isError: true, whole: false, content: FIXED.has(text) ? text : lines.join("\n") };
}

/** `own`: the message without the engine's name of the tool before it. */
function sentence(
  error: Failure,
  name: string,
  { own, tookMs }: { own: string; tookMs: number | undefined },
): string {
  const { message } = error;
  if (error.code === "E3214") return deniedByPerson(error);
  const { exitCode } = error.details ?? {};
  if (error.code === "E3108" && typeof exitCode === "number") return `${name} failed: exit code ${exitCode}`;
  switch (entryOf(error).srd) {
    case "BadArgs":
      return prefixed("Bad args: ", message);
    case "Timeout":
      return `Tool '${name}' timed out${after(error, tookMs)}`;
    case "ExecutionFailed":
      return own.startsWith("Tool panicked: ") ? own : `${name} failed: ${own}`;
    case "Cancelled":
      return MESSAGES.cancelled;
    case "UnknownTool":
      return message.startsWith("Unknown tool: ") ? message : `Unknown tool: ${name}. ${message}`;
    case "PatchFailed":
      return prefixed("Patch failed for ", message, `${fileOf(error, "<patch>")}: `);
    case "StaleFile":
      return prefixed("Stale file ", message, `${fileOf(error, "<file>")}: `);
    default:
      return message;
  }
}

function ownWords(message: string, tool: string): string {
  const prefix = `${tool} failed: `;
  return message.startsWith(prefix) ? message.slice(prefix.length) : message;
}

/** Tools that know the wording already are not made to stutter. */
function prefixed(prefix: string, message: string, rest = ""): string {
  return message.startsWith(prefix) ? message : `${prefix}${rest}${message}`;
}

function fileOf({ details }: Failure, unknown: string): string {
  return typeof details?.file === "string" ? details.file : unknown;
}

function deniedByPerson({ details }: Failure): string {
  const reason = details?.reason;
  const says = typeof reason === "string" && reason.trim() !== "" && reason !== MESSAGES.deniedByUser;
  return says ? `${MESSAGES.deniedByUser}: ${reason}` : MESSAGES.deniedByUser;
}

/** The limit where it is known, otherwise how long it really took. */
function after({ details }: Failure, tookMs: number | undefined): string {
  const ms = typeof details?.timeoutMs === "number" ? details.timeoutMs : tookMs;
  return ms === undefined ? "" : ` after ${Number((ms / 1_000).toFixed(3))}s`;
}

/** One issue is in the message already. */
function issueLines(issues: readonly Issue[] = []): string[] {
  if (issues.length < 2) return issues.flatMap(({ suggestion }) => suggestion ?? []);
  const lines = issues.slice(0, MOST_ISSUES).map(({ path, reason, suggestion }) => {
    return `- ${path || "/"} ${reason}${suggestion === undefined ? "" : ` (${suggestion})`}`;
  });
  return issues.length > MOST_ISSUES ? [...lines, `- and ${issues.length - MOST_ISSUES} more`] : lines;
}

/** Of a command that failed: the ends of what it printed, which may say why. */
function printedBy({ details }: Failure): string[] {
  return ["stdout", "stderr"].flatMap((stream) => {
    const text = details?.[stream];
    return typeof text === "string" && text.trim() !== "" ? [`[${stream}]\n${text}`] : [];
  });
}

/** Only what the model itself can follow, once; what an operator should do would only lead it astray. */
function adviceOf(error: Failure): string[] {
  const { advice, message } = error;
  const { fixer, srd, advice: usual } = entryOf(error);
  if (advice === "" || message.includes(advice)) return [];
  if (advice === usual && helpsNobody(error)) return [];
  return fixer === "model" || srd === "Timeout" ? [advice] : [];
}

/** Whether the catalogue's advice helps nobody here: some codes explain themselves, and E3901's speaks of places. */
function helpsNobody({ code, issues = [] }: Failure): boolean {
  return SELF_EXPLAINING.has(code) || (code === "E3901" && issues.length === 0);
}
