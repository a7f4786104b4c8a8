import { isJsonObject, type JsonValue } from "@sallyport/protocol";
import type { CallFacts, ToolContext, ToolHost, UseOf } from "../../ports/runner.ts";
import {
  decodeFileOp,
  encodeFileAnswer,
  type FileAnswer,
  type FileOp,
  filesOver,
  performFileOp,
} from "./file-ops.ts";
import { copyJson, describeThrown, encodeJson } from "./tool-result.ts";

// What a tool may ask of its host while it runs: on the tool's side the context, on the host's side the answers.

export const HOST_METHODS = ["get", "put", "delete", "keys", "use", "file", "output"] as const;
export type HostMethod = (typeof HOST_METHODS)[number];

/** The largest value `state.put` takes; it bounds what the host holds for a tool. */
export const MAX_HOST_VALUE_BYTES = 4 * 1024 * 1024;
/** The longest key, prefix, capability name or path. */
export const MAX_SUBJECT_CHARS = 4_096;
/** The longest action or resource of a use. */
const MAX_USE_TEXT_CHARS = 4_096;
/** Room for both texts, however they are escaped. */
const MAX_USE_BYTES = 64 * 1_024;
const MAX_PHASE_CHARS = 200;

const { parse } = JSON;

/**
 * One question to the host: about a key, a prefix, a capability or a file, or output to show. `value` is JSON text: what
 * to `put` or show, what a capability is used for, or what to do with the file.
 */
export interface HostQuestion {
  method: HostMethod;
  subject: string;
  value?: string;
}

/** The way from a tool's context to its host: a direct one inline, messages in a thread or a process. */
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
    this.#files ??= filesOver((path, wanted) => channel.file(path, wanted));
    return this.#files;
  }

  get progress(): ToolContext["progress"] {
    const channel = this.#channel;
    return (percent, phase) => {
      if (typeof percent !== "number" || Number.isNaN(percent)) return;
      const said = typeof phase === "string" ? phase.slice(0, MAX_PHASE_CHARS) : undefined;
      channel.progress(Math.min(100, Math.max(0, percent)), said);
    };
  }

  get output(): ToolContext["output"] {
    const channel = this.#channel;
    return async (text) => {
      if (typeof text !== "string") throw new TypeError("output must be a string");
      return (await channel.ask({ method: "output", subject: "", value: valueText(text) })) === true;
    };
  }

  get use(): ToolContext["use"] {
    const channel = this.#channel;
    return async (capability, on) => {
      const subject = checkSubject(capability);
      await channel.ask({ method: "use", subject, ...(on !== undefined && { value: encodeUse(on) }) });
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

/** A use as JSON text, on its way to the host. Throws for what is not a use: the author's mistake. */
export function encodeUse(on: unknown): string {
  const encoded = encodeJson(checkUse(on), MAX_USE_BYTES);
  if (!encoded.ok) throw new TypeError("what a capability is used for must be JSON");
  return encoded.text;
}

/** Reads such a text as if an enemy had written it. Throws for anything but a use; then nothing has been used. */
export function decodeUse(text: string): UseOf {
  if (text.length > MAX_USE_BYTES) throw new RangeError("what a capability is used for is too long");
  return checkUse(parse(text));
}

/** A copy with the known fields and no others. */
function checkUse(on: unknown): UseOf {
  if (!isJsonObject(on)) throw new TypeError("what a capability is used for must be an object");
  const { action, resource, bytes } = on;
  return {
    ...(action !== undefined && { action: checkUseText(action) }),
    ...(resource !== undefined && { resource: checkUseText(resource) }),
    ...(bytes !== undefined && { bytes: checkSize(bytes) }),
  };
}

function checkUseText(text: unknown): string {
  if (typeof text !== "string") throw new TypeError("an action or a resource must be a string");
  if (text.length <= MAX_USE_TEXT_CHARS) return text;
  throw new RangeError(`an action or a resource has at most ${MAX_USE_TEXT_CHARS} characters`);
}

function checkSize(bytes: unknown): number {
  if (typeof bytes === "number" && Number.isSafeInteger(bytes) && bytes >= 0) return bytes;
  throw new TypeError("bytes must be a whole number");
}

/** Puts a tool's question to the host. Rejects with the host's own error; the answer is a copy. */
export async function askHost(host: ToolHost, question: HostQuestion): Promise<JsonValue | undefined> {
  const { subject, value } = question;
  switch (question.method) {
    case "get":
      return copyJson(await host.get(subject));
    case "keys":
      return [...(await host.keys(subject))];
    case "put":
      await host.put(subject, parse(value ?? "null"));
      return undefined;
    case "delete":
      await host.delete(subject);
      return undefined;
    case "use":
      await host.use(subject, value === undefined ? undefined : decodeUse(value));
      return undefined;
    case "output":
      return await host.output(String(parse(value ?? '""')));
    case "file":
      return encodeFileAnswer(await performFileOp(host.files, subject, decodeFileOp(value ?? "")));
  }
}

/** What is left of a host's error on the way to the tool. */
export interface HostError {
  name: string;
  message: string;
  code?: string;
}

/** The host's answer on its way to the tool: a body (nothing for `undefined`), or an error. */
export interface HostReply {
  body: string;
  error?: HostError;
}

/** As askHost, for a tool that is reached by messages: a refusal becomes part of the answer. Never rejects. */
export async function answerFor(host: ToolHost, question: HostQuestion): Promise<HostReply> {
  try {
    const value = await askHost(host, question);
    return { body: value === undefined ? "" : JSON.stringify(value) };
  } catch (error) {
    return { body: "", error: hostError(error) };
  }
}

/** Passes progress on. A host that throws here is ignored: progress never ends a call. */
export function tellProgress(host: ToolHost, report: { percent: number; phase?: string | undefined }): void {
  try {
    if (report.phase === undefined) host.progress(report.percent);
    else host.progress(report.percent, report.phase);
  } catch {
    // Nobody waits for an answer.
  }
}

function hostError(error: unknown): HostError {
  const { message } = describeThrown(error);
  if (!(error instanceof Error)) return { name: "Error", message };
  const { name } = error;
  return "code" in error && typeof error.code === "string"
    ? { name, message, code: error.code }
    : { name, message };
}

/** How many questions of one call may be open at once. The tool's side queues further ones. */
const MAX_OPEN_QUESTIONS = 64;
/** Of these, how many about files: each may hold a whole file in memory. */
const MAX_OPEN_FILES = 2;

/** Counts a call's open questions, so that what the host holds for one tool is bounded. */
export class OpenQuestions {
  #all = 0;
  #files = 0;

  /** False when the question has to wait. */
  tryOpen(method: HostMethod): boolean {
    if (this.#all >= MAX_OPEN_QUESTIONS) return false;
    if (method === "file" && this.#files >= MAX_OPEN_FILES) return false;
    this.#all += 1;
    if (method === "file") this.#files += 1;
    return true;
  }

  close(method: HostMethod): void {
    this.#all -= 1;
    if (method === "file") this.#files -= 1;
  }
}
