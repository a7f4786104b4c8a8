import type { JsonValue } from "@sallyport/protocol";
import type { CallFacts, ToolContext } from "../../ports/runner.ts";
import type { FileAnswer, FileOp } from "./file-op.ts";
import { encodeJson } from "./json-text.ts";
import { createToolFiles } from "./tool-files.ts";
import { encodeUse } from "./use-of.ts";

export const HOST_METHODS = ["get", "put", "delete", "keys", "use", "file"] as const;
export type HostMethod = (typeof HOST_METHODS)[number];

/** The largest value `state.put` takes; what main holds for a tool is bounded by it. */
export const MAX_HOST_VALUE_BYTES = 4 * 1024 * 1024;
/** The longest key, prefix, capability name or path. */
export const MAX_SUBJECT_CHARS = 4_096;
const MAX_PHASE_CHARS = 200;

/**
 * One question to the host: about a key, a prefix, a capability or a file. `value` is JSON text: what to `put`, what
 * a capability is used for, or what to do with the file.
 */
export interface HostQuestion {
  method: HostMethod;
  subject: string;
  value?: string;
}

/** The way from a tool's context to its host: a direct one inline, a message port in a thread. */
export interface ContextChannel {
  /** Made on first use: most tools never look at it. */
  readonly signal: AbortSignal;
  /** Rejects when the host refuses or when the call has ended. */
  ask(question: HostQuestion): Promise<JsonValue | undefined>;
  /** Rejects as the host's files do, or when the call has ended. */
  file(path: string, wanted: FileOp): Promise<FileAnswer>;
  /** Never fails; ignored when the call has ended. */
  progress(percent: number, phase: string | undefined): void;
}

/** The context a tool gets: the same behaviour whatever the runner. Misuse is an exception the tool can catch. */
export function createToolContext(facts: CallFacts, channel: ContextChannel): ToolContext {
  return new LazyContext(facts, channel);
}

/**
 * The facts are its own properties; all else is made when a tool first looks at it, and works when taken out of
 * the object. (An object literal with accessors costs ten times as much for each call.)
 */
class LazyContext implements ToolContext {
  declare readonly callId: string;
  declare readonly executionId: string;
  declare readonly attempt: number;
  declare readonly tenant: string;
  declare readonly agent: string;
  declare readonly deadlineAt: number;
  readonly #channel: ContextChannel;
  #state: ToolContext["state"] | undefined;
  #files: ToolContext["files"] | undefined;

  constructor(facts: CallFacts, channel: ContextChannel) {
    Object.assign(this, facts);
    this.#channel = channel;
  }

  get signal(): AbortSignal {
    return this.#channel.signal;
  }

  get state(): ToolContext["state"] {
    this.#state ??= createState(this.#channel);
    return this.#state;
  }

  get files(): ToolContext["files"] {
    const channel = this.#channel;
    this.#files ??= createToolFiles((path, wanted) => channel.file(path, wanted));
    return this.#files;
  }

  get progress(): ToolContext["progress"] {
    const channel = this.#channel;
    return (percent, phase) => reportProgress(channel, { percent, phase });
  }

  get use(): ToolContext["use"] {
    const channel = this.#channel;
    return async (capability, on) => {
      const subject = checkSubject(capability);
      await channel.ask(
        on === undefined ? { method: "use", subject } : { method: "use", subject, value: encodeUse(on) },
      );
    };
  }
}

function createState(channel: ContextChannel): ToolContext["state"] {
  return Object.freeze({
    get: async (key: string) => channel.ask({ method: "get", subject: checkSubject(key) }),
    put: async (key: string, value: JsonValue) => {
      await channel.ask({ method: "put", subject: checkSubject(key), value: valueText(value) });
    },
    delete: async (key: string) => {
      await channel.ask({ method: "delete", subject: checkSubject(key) });
    },
    keys: async (prefix: string) => {
      const keys = await channel.ask({ method: "keys", subject: checkSubject(prefix) });
      return Array.isArray(keys) ? keys.map(String) : [];
    },
  });
}

function reportProgress(channel: ContextChannel, report: { percent: unknown; phase: unknown }): void {
  if (typeof report.percent !== "number" || Number.isNaN(report.percent)) return;
  const percent = Math.min(100, Math.max(0, report.percent));
  const phase = typeof report.phase === "string" ? report.phase.slice(0, MAX_PHASE_CHARS) : undefined;
  channel.progress(percent, phase);
}

function checkSubject(subject: unknown): string {
  if (typeof subject !== "string") throw new TypeError("a key, prefix or capability must be a string");
  if (subject.length <= MAX_SUBJECT_CHARS) return subject;
  throw new RangeError(`a key, prefix or capability has at most ${MAX_SUBJECT_CHARS} characters`);
}

function valueText(value: unknown): string {
  const encoded = encodeJson(value, MAX_HOST_VALUE_BYTES);
  if (encoded.ok) return encoded.text;
  if (encoded.fault.kind !== "output_too_large") throw new TypeError("a state value must be JSON");
  throw new RangeError(`a state value has at most ${MAX_HOST_VALUE_BYTES} bytes`);
}
