import { Buffer } from "node:buffer";
import { isJsonObject, type JsonObject } from "@sallyport/protocol";
import type { CallFacts, Implementation, RunFault } from "../../ports/runner.ts";
import type { HostError } from "./host-api.ts";
import { type HostOp, isHostOp, LONGEST_ARGS, longestArgs } from "./host-ops.ts";
import { cleanText, threwFault } from "./tool-result.ts";

// A frame is a JSON head, a newline, and a JSON body (or nothing). JSON text never contains a raw newline, so the first
// one ends the head. Several orders to a thread are joined by newlines into one message; over a pipe every frame ends
// with a newline. A string crosses a port faster than an object, carries no ports, buffers or prototypes, and its size is
// known before anything is parsed.

/** Which tool a thread or a process loads. */
export interface WantedTool {
  moduleUrl: string;
  tool: string;
  version: string;
}

/** A tool's module, as threads and scripts load it. */
interface ModuleImplementation extends Implementation {
  readonly moduleUrl: string;
}

export function isModule(implementation: Implementation): implementation is ModuleImplementation {
  return typeof implementation.moduleUrl === "string";
}

/** Host to tool. `run` carries the input as its body, `answer` the host's value. */
export type Order =
  /** Over a pipe only, as the first order: a thread gets its tool with its port. */
  | ({ kind: "hello" } & WantedTool)
  | { kind: "run"; call: number; operation: string; facts: CallFacts; leftMs: number; maxBytes: number }
  | { kind: "abort"; call: number }
  | { kind: "answer"; call: number; question: number; error?: HostError };

/** An order about a call. */
export type CallOrder = Exclude<Order, { kind: "hello" }>;

/** Tool to host. `done` carries the output as its body, `ask` the arguments. */
export type Report =
  | { kind: "ready"; threadCpuMs: number }
  | { kind: "unusable"; fault: RunFault }
  | ({ kind: "done"; call: number } & UsageSample)
  | ({ kind: "failed"; call: number; fault: RunFault } & UsageSample)
  | { kind: "ask"; call: number; question: number; op: HostOp }
  | { kind: "progress"; call: number; percent: number; phase?: string };

/** A report about a call, rather than about the thread or the process. */
export type CallReport = Extract<Report, { call: number }>;

/** What a thread or process has used: processor time since its start, and memory at this moment (heap and buffers). */
export interface UsageSample {
  threadCpuMs: number;
  memoryBytes: number;
}

// Taken before any tool runs, so that a tool that breaks its own globals cannot break this file.
const { stringify, parse } = JSON;

export function encodeFrame(head: Order | Report, body = ""): string {
  return `${stringify(head)}\n${body}`;
}

interface Frame<Head> {
  head: Head;
  body: string;
}

/** Throws when the text is not a frame. */
function decodeFrame(text: string): Frame<unknown> {
  const end = text.indexOf("\n");
  return { head: parse(text.slice(0, end)), body: text.slice(end + 1) };
}

/** The orders of a message. The host wrote it, so its shape is not checked. */
export function decodeOrders(text: string): Frame<Order>[] {
  const lines = text.split("\n");
  const frames: Frame<Order>[] = [];
  for (let at = 0; at + 1 < lines.length; at += 2) {
    frames.push({ head: parse(lines[at] ?? ""), body: lines[at + 1] ?? "" });
  }
  return frames;
}

/** The program of that name beside a module of ours, as it runs: from source, or compiled. */
export function programBeside(moduleUrl: string, name: string): URL {
  return new URL(`./${name}${moduleUrl.endsWith(".ts") ? ".ts" : ".js"}`, moduleUrl);
}

const NEWLINE = 0x0a;

interface FrameReaderOptions {
  onFrame(frame: string): void;
  /** The longest frame that is read; left out: any. */
  maxBytes?: number;
  /** Called once, as soon as a frame is longer. */
  onTooLong?(): void;
}

/** Cuts a pipe's bytes into frames. Holds no more than one frame, and nothing after one that is too long. */
export class FrameReader {
  readonly #options: FrameReaderOptions;
  #pending: Buffer[] = [];
  #pendingBytes = 0;
  #lineEnds = 0;
  #gaveUp = false;

  constructor(options: FrameReaderOptions) {
    this.#options = options;
  }

  take(chunk: Buffer): void {
    let from = 0;
    for (let at = chunk.indexOf(NEWLINE); at >= 0; at = chunk.indexOf(NEWLINE, at + 1)) {
      this.#lineEnds += 1;
      if (this.#lineEnds < 2) continue;
      this.#keep(chunk.subarray(from, at));
      from = at + 1;
      this.#deliver();
    }
    this.#keep(chunk.subarray(from));
  }

  #keep(bytes: Buffer): void {
    if (this.#gaveUp || bytes.length === 0) return;
    this.#pending.push(bytes);
    this.#pendingBytes += bytes.length;
    if (this.#pendingBytes <= (this.#options.maxBytes ?? Number.POSITIVE_INFINITY)) return;
    this.#gaveUp = true;
    this.#pending = [];
    this.#options.onTooLong?.();
  }

  #deliver(): void {
    const frame = Buffer.concat(this.#pending).toString("utf8");
    this.#pending = [];
    this.#pendingBytes = 0;
    this.#lineEnds = 0;
    if (!this.#gaveUp) this.#options.onFrame(frame);
  }
}

const MAX_HEAD_CHARS = 64 * 1_024;

/** A report whose shape is checked, and its body, of which only the length is. */
export interface OpenedReport<Kind extends Report = Report> {
  report: Kind;
  body: string;
}

/** The longest report of a call with that limit; longer ones need not be read to the end. */
export function longestReport(maxOutputBytes: number): number {
  return MAX_HEAD_CHARS + Math.max(LONGEST_ARGS, maxOutputBytes);
}

/**
 * Reads what came out of a thread or a process as if an enemy had written it. `undefined` means garbage: not a string,
 * too long for what it is, no known kind, or a field of the wrong shape. Never throws.
 */
export function readReport(message: unknown, maxOutputBytes: number): OpenedReport | undefined {
  if (typeof message !== "string" || message.length > longestReport(maxOutputBytes)) return undefined;
  if (message.indexOf("\n") > MAX_HEAD_CHARS) return undefined;
  try {
    const { head, body } = decodeFrame(message);
    const report = isJsonObject(head) ? checkReport(head) : undefined;
    return report && body.length <= longestBody(report, maxOutputBytes) ? { report, body } : undefined;
  } catch {
    return undefined;
  }
}

function longestBody(report: Report, maxOutputBytes: number): number {
  return report.kind === "ask" ? longestArgs(report.op) : Math.max(longestArgs("put"), maxOutputBytes);
}

function checkReport(head: JsonObject): Report | undefined {
  const { kind, call } = head;
  if (kind === "ready")
    return isAmount(head.threadCpuMs) ? { kind, threadCpuMs: head.threadCpuMs } : undefined;
  if (kind === "unusable") {
    const fault = checkFault(head.fault);
    return fault && { kind, fault };
  }
  if (!isCount(call)) return undefined;
  if (kind === "done" || kind === "failed") return checkEnding(head, call);
  if (kind === "progress") return checkProgress(head, call);
  const { question, op } = head;
  return kind === "ask" && isCount(question) && isHostOp(op) ? { kind, call, question, op } : undefined;
}

function checkEnding(head: JsonObject, call: number): Report | undefined {
  const { threadCpuMs, memoryBytes } = head;
  if (!isAmount(threadCpuMs) || !isAmount(memoryBytes)) return undefined;
  if (head.kind === "done") return { kind: "done", call, threadCpuMs, memoryBytes };
  const fault = checkFault(head.fault);
  return fault && { kind: "failed", call, threadCpuMs, memoryBytes, fault };
}

function checkProgress(head: JsonObject, call: number): Report | undefined {
  const { percent, phase } = head;
  if (!isAmount(percent) || percent > 100) return undefined;
  if (phase === undefined) return { kind: "progress", call, percent };
  return typeof phase === "string" ? { kind: "progress", call, percent, phase } : undefined;
}

function checkFault(value: unknown): RunFault | undefined {
  if (!isJsonObject(value)) return undefined;
  const { kind, bytes } = value;
  if (kind === "timeout") return { kind };
  if (kind === "output_too_large") return isAmount(bytes) ? { kind, bytes } : undefined;
  if (typeof value.message !== "string") return undefined;
  if (kind === "died" || kind === "not_json") return { kind, message: cleanText(value.message) };
  return kind === "threw" ? threwFault(value.message, value) : undefined;
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value);
}

function isAmount(value: unknown): value is number {
  return typeof value === "number" && value >= 0 && value < Number.MAX_SAFE_INTEGER;
}
