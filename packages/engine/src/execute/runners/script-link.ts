import type { Job, RunFault } from "../../ports/runner.ts";
import type { SandboxEnd, SandboxProcess } from "../../ports/sandbox.ts";
import type { Outcome, OutcomeLatch } from "./outcome-latch.ts";
import { RemoteCall } from "./remote-call.ts";
import type { LinkBounds } from "./script-spec.ts";
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

/** Who hears a process out: the pool while it waits, then its one call. */
export interface LinkListener {
  onReport(opened: OpenedReport): void;
  /** Something came that is no report, or more than may come. Nothing is heard after it. */
  onBroken(fault: RunFault): void;
}

/** The host's end of the pipes to a script's process. Whoever opens it without a listener hands it to one at once. */
export class ScriptLink {
  readonly process: SandboxProcess;
  readonly #bounds: LinkBounds;
  readonly #printed: KeptOutput;
  #listener: LinkListener | undefined;
  #isBroken = false;

  constructor(process: SandboxProcess, bounds: LinkBounds, listener?: LinkListener) {
    this.process = process;
    this.#bounds = bounds;
    this.#listener = listener;
    const { maxPrintedBytes, maxOutputBytes } = bounds;
    this.#printed = new KeptOutput(process.stderr, {
      maxBytes: MAX_STDERR_TAIL_BYTES,
      keep: "end",
      limit: { bytes: maxPrintedBytes, onExceeded: () => this.#break(outputFault(maxPrintedBytes)) },
    });
    const reader = new FrameReader({
      onFrame: (frame) => this.#take(frame),
      maxBytes: longestReport(maxOutputBytes),
      onTooLong: () => this.#breakProtocol("more than fits"),
    });
    process.stdout.on("data", (chunk: Buffer) => reader.take(chunk));
    process.stdout.on("error", () => undefined);
    // A process that is gone takes no orders; its end is told elsewhere.
    process.stdin.on("error", () => undefined);
  }

  /** From now on this one listens. Reports are handed over one by one, so none is lost or heard twice. */
  handTo(listener: LinkListener): void {
    this.#listener = listener;
  }

  /** Never fails; a process that is gone hears nothing, and one that lets answers pile up is ended. */
  post(order: Order, body?: string): void {
    const { stdin } = this.process;
    if (stdin.destroyed) return;
    if (stdin.writableLength > MAX_UNREAD_BYTES) this.#breakProtocol("questions without reading the answers");
    else stdin.write(`${encodeFrame(order, body)}\n`);
  }

  /** The end of what the tool printed, once all of it has come. */
  async stderrTail(): Promise<string> {
    await this.#printed.closed();
    return cleanText(this.#printed.tailText().trim());
  }

  #take(frame: string): void {
    if (this.#isBroken) return;
    const opened = readReport(frame, this.#bounds.maxOutputBytes);
    if (opened) this.#listener?.onReport(opened);
    else this.#breakProtocol("something that is no report");
  }

  #breakProtocol(what: string): void {
    this.#break({ kind: "died", message: `the tool's process broke the protocol: it sent ${what}` });
  }

  #break(fault: RunFault): void {
    if (this.#isBroken) return;
    this.#isBroken = true;
    this.#listener?.onBroken(fault);
  }
}

/** A process serves one call and is never used again. */
const CALL = 1;
/** How long a cancelled tool may tidy up before its process is ended. */
const CANCEL_GRACE_MS = 50;

/** With fewer Node may abort before it can say why. */
const NODE_OPEN_FILES = 32;
const OUT_OF_FILES = /too many open files|\bE[MN]FILE\b/i;
const OUT_OF_MEMORY = /heap out of memory|Fatal process out of memory|allocation failed/i;

/** A call in a process of its own, seen from the host. */
export class ScriptSession implements LinkListener, ProcessSession {
  readonly #call: RemoteCall;
  readonly #link: ScriptLink;
  /** What a warm process had spent when it was ready. */
  readonly cpuBeforeMs: number;
  #isSent = false;

  /** `warm`: the process has loaded its tool already, and spent so much on it. */
  constructor(job: Job, latch: OutcomeLatch, { link, warm }: { link: ScriptLink; warm?: { cpuMs: number } }) {
    this.#call = new RemoteCall(job, latch, "process");
    this.#link = link;
    this.cpuBeforeMs = warm?.cpuMs ?? 0;
    latch.onCancel = () => this.#askToStop();
    link.handTo(this);
    if (warm) this.#send();
  }

  onReport({ report, body }: OpenedReport): void {
    const { latch } = this.#call;
    if (latch.outcome) return;
    if (report.kind === "ready" && !this.#isSent) this.#send();
    else if (report.kind === "unusable") latch.fail(unusableFault(report.fault));
    else if ("call" in report && report.call === CALL && this.#isSent) this.#call.take(report, body);
    else {
      const message = "the tool's process broke the protocol: it sent a report out of turn";
      latch.fail({ kind: "died", message });
    }
  }

  onBroken(fault: RunFault): void {
    this.#call.latch.fail(fault);
  }

  async conclude({ ending }: SandboxEnd): Promise<Outcome> {
    const tail = withoutFolders(await this.#link.stderrTail());
    const { openFiles = Number.POSITIVE_INFINITY } = this.#call.job.confinement?.limits ?? {};
    const isStarved = !this.#isSent && openFiles < NODE_OPEN_FILES;
    if (isStarved || OUT_OF_FILES.test(tail)) return { ok: false, fault: OPEN_FILES_FAULT };
    const printed = tail && `; it printed: ${tail}`;
    if (ending.kind !== "signalled") {
      const code = ending.kind === "exited" ? ` with code ${ending.code}` : "";
      return { ok: false, fault: { kind: "died", message: `the tool's process ended${code}${printed}` } };
    }
    const message = `the tool's process was ended by ${ending.signal}${printed}`;
    // V8 aborts a process that has no memory left, and says so.
    if (OUT_OF_MEMORY.test(tail)) return { ok: false, fault: { kind: "limit", limit: "memory", message } };
    return { ok: false, fault: { kind: "crashed", message } };
  }

  #send(): void {
    this.#isSent = true;
    const post = this.#link.post.bind(this.#link);
    post(...this.#call.runOrder(CALL, post));
  }

  /** Nothing to tidy up in a tool that has not begun. */
  #askToStop(): number {
    if (!this.#isSent) return 0;
    this.#call.abort();
    return CANCEL_GRACE_MS;
  }
}

/** What Node prints then names files of the runtime, which say nothing to a caller. */
const OPEN_FILES_FAULT: RunFault = {
  kind: "limit",
  limit: "openFiles",
  message: "its process could open no more files",
};

function unusableFault(fault: RunFault): RunFault {
  return "message" in fault && OUT_OF_FILES.test(fault.message) ? OPEN_FILES_FAULT : fault;
}
