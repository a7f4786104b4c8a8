import { availableParallelism } from "node:os";
import type { Job, RunFault } from "../../ports/runner.ts";
import type { SandboxEnd, SandboxProcess } from "../../ports/sandbox.ts";
import type { Outcome, OutcomeLatch } from "./outcome-latch.ts";
import { RemoteCall } from "./remote-call.ts";
import type { ScriptSpec } from "./script-spec.ts";
import { KeptOutput, outputFault, type ProcessSession } from "./supervise.ts";
import { cleanText, withoutFolders } from "./tool-result.ts";
import {
  encodeFrame,
  FrameReader,
  longestReport,
  type OpenedReport,
  type Order,
  readReport,
} from "./wire.ts";

/** Enough to explain why a process died. */
const MAX_STDERR_TAIL_BYTES = 4 * 1_024;
/** More than the answers to all questions that may be open at once. */
const MAX_UNREAD_BYTES = 128 * 1_048_576;
/** A process serves one call and is never used again. */
const CALL = 1;
/** How long a cancelled tool may tidy up before its process is ended. */
const CANCEL_GRACE_MS = 50;
/** With fewer Node may abort before it can say why. */
const NODE_OPEN_FILES = 32;
const OUT_OF_FILES = /too many open files|\bE[MN]FILE\b/i;
/** What V8 prints below its last words, which are about itself and not the tool. */
const NATIVE_STACK = /\s*-+ Native stack trace -+/;
const OUT_OF_MEMORY = /heap out of memory|Fatal process out of memory|allocation failed/i;

/** What Node prints then names files of the runtime, which say nothing to a caller. */
const OPEN_FILES_FAULT: RunFault = {
  kind: "limit",
  limit: "openFiles",
  message: "its process could open no more files",
};

/**
 * The host's end of a sandboxed process that loads one tool for one call. It is
 *   loading – told which tool to load; its call may have come already;
 *   ready   – loaded, without a call, and silent: any report from it now is a breach, and ends it;
 *   claimed – the pool does nothing with it any more; it is loading or it runs its call;
 *   gone    – it died, broke the protocol, or was ended because nobody came.
 * What comes out of it is hostile: anything but the report that is due ends its call.
 */
export class ScriptProcess {
  readonly process: SandboxProcess;
  readonly spec: ScriptSpec;
  /** Since when it is loaded, on the `performance.now()` clock. */
  loadedAt: number | undefined;
  readonly #startedAt: number;
  readonly #printed: KeptOutput;
  readonly #settled = Promise.withResolvers<void>();
  #call: RemoteCall | undefined;
  /** What loading took. */
  #cpuMs = 0;
  #isClaimed = false;
  #isBroken = false;
  #isGone = false;

  constructor(process: SandboxProcess, spec: ScriptSpec, startedAt: number) {
    this.process = process;
    this.spec = spec;
    this.#startedAt = startedAt;
    const { maxPrintedBytes, maxOutputBytes } = spec.link;
    this.#printed = new KeptOutput(process.stderr, {
      maxBytes: MAX_STDERR_TAIL_BYTES,
      keep: "end",
      limit: { bytes: maxPrintedBytes, onExceeded: () => this.#break(outputFault(maxPrintedBytes)) },
    });
    const reader = new FrameReader({
      onFrame: (frame) => this.#take(readReport(frame, maxOutputBytes)),
      maxBytes: longestReport(maxOutputBytes),
      onTooLong: () => this.#breakProtocol("more than fits"),
    });
    process.stdout.on("data", (chunk: Buffer) => reader.take(chunk));
    process.stdout.on("error", () => undefined);
    // A process that is gone takes no orders; its end is told elsewhere.
    process.stdin.on("error", () => undefined);
    process.stdout.once("close", () => this.#leave());
    void process.ended.then(() => this.#leave());
    this.#post({ kind: "hello", ...spec.wanted });
  }

  get isReady(): boolean {
    return this.loadedAt !== undefined && !this.#isClaimed && !this.#isGone;
  }

  /** Resolves when it is loaded or gone. */
  get settled(): Promise<void> {
    return this.#settled.promise;
  }

  /** True when it was ready: it is the caller's now. */
  claim(): boolean {
    const wasReady = this.isReady;
    if (wasReady) this.#isClaimed = true;
    return wasReady;
  }

  /** Ends it, unless it was claimed. Resolves when it is gone. */
  async end(): Promise<void> {
    if (this.#isClaimed) return;
    this.#leave();
    this.process.kill();
    await this.process.ended;
  }

  /** Gives it its one call, which is sent as soon as the tool is loaded. A call's processor time counts from here. */
  serve(job: Job, latch: OutcomeLatch): ProcessSession {
    this.#isClaimed = true;
    const call = new RemoteCall(job, latch, "process");
    this.#call = call;
    // Nothing to tidy up in a tool that has not begun.
    latch.onCancel = () => {
      if (call.id === 0) return 0;
      call.abort();
      return CANCEL_GRACE_MS;
    };
    const cpuBeforeMs = this.#cpuMs;
    if (this.loadedAt !== undefined) this.#send(call);
    return { cpuBeforeMs, conclude: (end) => this.#conclude(end, call) };
  }

  #send(call: RemoteCall): void {
    const post = this.#post.bind(this);
    if (!call.latch.outcome) post(...call.runOrder(CALL, post));
  }

  /** Never fails; a process that is gone hears nothing, and one that lets answers pile up is ended. */
  #post(order: Order, body?: string): void {
    const { stdin } = this.process;
    if (stdin.destroyed) return;
    if (stdin.writableLength > MAX_UNREAD_BYTES) this.#breakProtocol("questions without reading the answers");
    else stdin.write(`${encodeFrame(order, body)}\n`);
  }

  #take(opened: OpenedReport | undefined): void {
    if (this.#isBroken) return;
    const { report, body } = opened ?? {};
    if (!report) this.#breakProtocol("something that is no report");
    else if (report.kind === "ready" && this.loadedAt === undefined) this.#onLoaded(report.threadCpuMs);
    else if (report.kind === "unusable") this.#break(unusableFault(report.fault));
    else if ("call" in report && report.call === CALL && this.#call?.id === CALL)
      this.#call.take(report, body ?? "");
    else this.#breakProtocol("a report out of turn");
  }

  #onLoaded(cpuMs: number): void {
    this.loadedAt = performance.now();
    // The process says so itself: it is believed no further than it can be true.
    this.#cpuMs = Math.min(cpuMs, (this.loadedAt - this.#startedAt) * availableParallelism());
    this.#settled.resolve();
    if (this.#call) this.#send(this.#call);
  }

  #breakProtocol(what: string): void {
    this.#break({ kind: "died", message: `the tool's process broke the protocol: it sent ${what}` });
  }

  /** Nothing is heard after it. */
  #break(fault: RunFault): void {
    this.#isBroken = true;
    if (this.#call) this.#call.latch.fail(fault);
    else void this.end();
  }

  #leave(): void {
    this.#isGone = true;
    this.#settled.resolve();
  }

  async #conclude({ ending }: SandboxEnd, call: RemoteCall): Promise<Outcome> {
    await this.#printed.closed();
    const [tail = ""] = withoutFolders(cleanText(this.#printed.tailText().trim())).split(NATIVE_STACK);
    const isStarved = call.id === 0 && this.spec.order.limits.openFiles < NODE_OPEN_FILES;
    if (isStarved || OUT_OF_FILES.test(tail)) return { ok: false, fault: OPEN_FILES_FAULT };
    const lastWords = tail.split("\n").find((line) => OUT_OF_MEMORY.test(line));
    const said = lastWords?.replace(/^[#\s]+/, "") ?? tail;
    const printed = said && `; it printed: ${said}`;
    if (ending.kind !== "signalled") {
      const code = ending.kind === "exited" ? ` with code ${ending.code}` : "";
      return { ok: false, fault: { kind: "died", message: `the tool's process ended${code}${printed}` } };
    }
    const message = `the tool's process was ended by ${ending.signal}${printed}`;
    // V8 aborts a process that has no memory left, and says so.
    if (lastWords !== undefined) return { ok: false, fault: { kind: "limit", limit: "memory", message } };
    return { ok: false, fault: { kind: "crashed", message } };
  }
}

function unusableFault(fault: RunFault): RunFault {
  return "message" in fault && OUT_OF_FILES.test(fault.message) ? OPEN_FILES_FAULT : fault;
}
