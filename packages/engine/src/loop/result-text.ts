import { type CallAnswer, entryOf, type Failure, type Issue } from "@sallyport/protocol";
import { jsonObjectIn } from "./json-object-text.ts";
import { MESSAGES } from "./loop-settings.ts";

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

/** The answer of the engine as the model reads it. Total. */
export function resultText(answer: CallAnswer, name: string): ResultText {
  if (answer.status !== "success") {
    return failureText(answer.error, name, { tool: answer.tool, tookMs: answer.usage.durationMs });
  }
  const { result } = answer;
  return {
    isError: false,
    whole: false,
    content: typeof result === "string" ? result : JSON.stringify(result),
  };
}

export interface FailedRun {
  /** The engine's id of the tool, which its messages begin with. */
  tool?: string;
  tookMs?: number;
}

/** A failure as the model reads it, whether it comes from the engine or from planning. Total. */
export function failureText(error: Failure, name: string, run: FailedRun = {}): ResultText {
  const own = ownWords(error.message, run.tool ?? name);
  const passes = error.code === "E3907" && jsonObjectIn(own) !== undefined;
  return { isError: true, whole: passes, content: passes ? own : worded(error, name, { ...run, own }) };
}

interface Wording extends FailedRun {
  /** The message without the engine's name of the tool before it. */
  own: string;
}

function worded(error: Failure, name: string, wording: Wording): string {
  const text = sentence(error, name, wording);
  if (FIXED.has(text)) return text;
  return [text, ...issueLines(error.issues), ...printedBy(error), ...adviceOf(error)].join("\n");
}

function sentence(error: Failure, name: string, { own, tookMs }: Wording): string {
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
      return `${name} failed: ${own}`;
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
