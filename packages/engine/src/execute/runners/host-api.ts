import type { CallFacts, ToolContext, ToolHost } from "../../ports/runner.ts";
import {
  decodeArgs,
  encodeAnswer,
  HOST_OPS,
  type HostOp,
  type HostWay,
  hostPart,
  performHostOp,
} from "./host-ops.ts";
import { describeThrown } from "./tool-result.ts";

// The two ends of a tool's way to its host: on the tool's side the context, on the host's side the answers.

const MAX_PHASE_CHARS = 200;

/** The way from a tool's context to its host: a direct one inline, messages in a thread or a process. */
export interface ContextChannel {
  /** Made on first use: most tools never look at it. */
  readonly signal: AbortSignal;
  /** Rejects when the host refuses or when the call has ended. */
  ask: HostWay;
  /** Never fails; ignored when the call has ended. */
  progress(percent: number, phase: string | undefined): void;
}

/** The context of a call: the same behaviour whatever the runner. Misuse is an exception the tool can catch. */
export function createToolContext(facts: CallFacts, channel: ContextChannel): ToolContext {
  return new LazyContext(facts, channel);
}

/**
 * The facts are its own properties; all else is made when a tool first looks at it, and works when taken out of the
 * object. (An object literal with accessors costs ten times as much for each call.)
 */
class LazyContext implements ToolContext {
  declare readonly callId: string;
  declare readonly executionId: string;
  declare readonly attempt: number;
  declare readonly tenant: string;
  declare readonly agent: string;
  declare readonly deadlineAt: number;
  declare readonly maxOutputBytes: number;
  declare readonly availableBytes: number;
  readonly #channel: ContextChannel;
  #state: ToolContext["state"] | undefined;
  #files: ToolContext["files"] | undefined;
  #call: Pick<ToolHost, "use" | "output"> | undefined;

  constructor(facts: CallFacts, channel: ContextChannel) {
    Object.assign(this, facts);
    this.#channel = channel;
  }

  get signal(): AbortSignal {
    return this.#channel.signal;
  }

  get state(): ToolContext["state"] {
    this.#state ??= hostPart("state", this.#ask);
    return this.#state;
  }

  get files(): ToolContext["files"] {
    this.#files ??= hostPart("files", this.#ask);
    return this.#files;
  }

  get use(): ToolContext["use"] {
    this.#call ??= hostPart("call", this.#ask);
    return this.#call.use;
  }

  get output(): ToolContext["output"] {
    this.#call ??= hostPart("call", this.#ask);
    return this.#call.output;
  }

  get progress(): ToolContext["progress"] {
    const channel = this.#channel;
    return (percent, phase) => {
      if (typeof percent !== "number" || Number.isNaN(percent)) return;
      const said = typeof phase === "string" ? phase.slice(0, MAX_PHASE_CHARS) : undefined;
      channel.progress(Math.min(100, Math.max(0, percent)), said);
    };
  }

  get #ask(): HostWay {
    const channel = this.#channel;
    return (op, args) => channel.ask(op, args);
  }
}

/** What is left of a host's error on the way to the tool. */
export interface HostError {
  name: string;
  message: string;
  code?: string;
  /** What the call ends with when the tool does not catch it. */
  toolCode?: string;
}

/** The host's answer on its way to the tool: a body, or an error. */
interface HostReply {
  body: string;
  error?: HostError;
}

/** Answers a tool that is reached by messages: a refusal becomes part of the answer. Never rejects. */
export async function answerFor(host: ToolHost, op: HostOp, body: string): Promise<HostReply> {
  try {
    return { body: encodeAnswer(op, await performHostOp(host, op, decodeArgs(op, body))) };
  } catch (error) {
    const { message, code: toolCode } = describeThrown(error);
    const { name = "Error", code } = error instanceof Error ? (error as NodeJS.ErrnoException) : {};
    const codes = { ...(typeof code === "string" && { code }), ...(toolCode !== undefined && { toolCode }) };
    return { body: "", error: { name, message, ...codes } };
  }
}

/** Passes progress on. A host that throws here is ignored: progress never ends a call. */
export function tellProgress(
  host: ToolHost,
  { percent, phase }: { percent: number; phase?: string | undefined },
): void {
  try {
    if (phase === undefined) host.progress(percent);
    else host.progress(percent, phase);
  } catch {
    // Nobody waits for an answer.
  }
}

/** How many questions of one call may be open at once. The tool's side queues further ones. */
const MAX_OPEN_QUESTIONS = 64;
/** Of these, how many about files: each may hold a whole file in memory. */
const MAX_OPEN_FILES = 2;

function filesOf(op: HostOp): number {
  return HOST_OPS[op].part === "files" ? 1 : 0;
}

/** Counts a call's open questions, so that what the host holds for one tool is bounded. */
export class OpenQuestions {
  #all = 0;
  #files = 0;

  /** False when the question has to wait. */
  tryOpen(op: HostOp): boolean {
    const files = filesOf(op);
    if (this.#all >= MAX_OPEN_QUESTIONS || this.#files + files > MAX_OPEN_FILES) return false;
    this.#all += 1;
    this.#files += files;
    return true;
  }

  close(op: HostOp): void {
    this.#all -= 1;
    this.#files -= filesOf(op);
  }
}
