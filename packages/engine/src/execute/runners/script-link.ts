import type { SandboxProcess } from "../../ports/sandbox.ts";
import { cleanText } from "./describe-thrown.ts";
import { KeptOutput, tailText } from "./process-output.ts";
import { longestReport, type OpenedReport, readReport } from "./read-report.ts";
import { encodeOrder, FrameReader, type ScriptOrder } from "./script-frames.ts";

/** Enough to explain why a process died. */
const MAX_WORDS_BYTES = 4 * 1_024;

/** More than the answers to all questions that may be open at once. */
const MAX_UNREAD_BYTES = 128 * 1_048_576;

/** Who hears a process out: the pool while it waits, then its one call. */
export interface LinkListener {
  onReport(opened: OpenedReport): void;
  /** Something came that is no report. Nothing is heard after it. */
  onGarbage(what: string): void;
  /** The tool printed more than it may. */
  onTooMuchPrinted(): void;
}

/** What a link may carry. */
export interface LinkBounds {
  maxOutputBytes: number;
  /** What the tool may print besides. */
  maxPrintedBytes: number;
}

/** Main's end of the pipes to a script's process. Whoever opens it sees to it that somebody listens at once. */
export class ScriptLink {
  readonly process: SandboxProcess;
  readonly #bounds: LinkBounds;
  readonly #printed: KeptOutput;
  #listener: LinkListener | undefined;
  #broken = false;

  constructor(process: SandboxProcess, bounds: LinkBounds, listener?: LinkListener) {
    this.process = process;
    this.#bounds = bounds;
    this.#listener = listener;
    this.#printed = this.#listenToStderr();
    this.#listenToStdout();
    // A process that is gone takes no orders; its end is told elsewhere.
    process.stdin.on("error", () => undefined);
  }

  /** From now on this one listens. Reports are handed over one by one, so none is lost or heard twice. */
  handTo(listener: LinkListener): void {
    this.#listener = listener;
  }

  /** Never fails; a process that is gone hears nothing, and one that lets answers pile up is done for. */
  post(head: ScriptOrder, body?: string): void {
    const { stdin } = this.process;
    if (stdin.destroyed) return;
    if (stdin.writableLength > MAX_UNREAD_BYTES) this.#break("questions without reading the answers");
    else stdin.write(encodeOrder(head, body));
  }

  /** The end of what the tool printed, once all of it has come. */
  async lastWords(): Promise<string> {
    await this.#printed.closed();
    return cleanText(tailText(this.#printed, MAX_WORDS_BYTES).trim());
  }

  #listenToStderr(): KeptOutput {
    return new KeptOutput(this.process.stderr, {
      maxBytes: MAX_WORDS_BYTES,
      keep: "end",
      limit: { bytes: this.#bounds.maxPrintedBytes, onExceeded: () => this.#listener?.onTooMuchPrinted() },
    });
  }

  #listenToStdout(): void {
    const { maxOutputBytes } = this.#bounds;
    const reader = new FrameReader({
      onFrame: (frame) => this.#open(frame),
      maxBytes: () => longestReport(maxOutputBytes),
      onTooLong: () => this.#break("more than fits"),
    });
    this.process.stdout.on("data", (chunk: Buffer) => reader.take(chunk));
    this.process.stdout.on("error", () => undefined);
  }

  #open(frame: string): void {
    if (this.#broken) return;
    const opened = readReport(frame, this.#bounds.maxOutputBytes);
    if (opened) this.#listener?.onReport(opened);
    else this.#break("something that is no report");
  }

  #break(what: string): void {
    if (this.#broken) return;
    this.#broken = true;
    this.#listener?.onGarbage(`the tool's process broke the protocol: it sent ${what}`);
  }
}
