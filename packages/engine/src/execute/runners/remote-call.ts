import type { Job } from "../../ports/runner.ts";
import { answerFor, OpenQuestions, tellProgress } from "./host-api.ts";
import type { Outcome, OutcomeLatch } from "./outcome-latch.ts";
import type { CallOrder, CallReport } from "./wire.ts";

/** Takes a call's orders to where its tool runs. Never fails. */
type OrderLine = (order: CallOrder, body?: string) => void;

/**
 * One call whose tool is reached by messages, over a thread's port or a process's pipe. It sends the orders, answers the
 * tool's questions and reads its ending. What the tool says is hostile: its shape was checked before it comes here.
 */
export class RemoteCall {
  readonly job: Job;
  readonly latch: OutcomeLatch;
  /** Its number among the calls of its thread or process; 0 before it is sent. */
  id = 0;
  /** Where the tool runs, for messages. */
  readonly #where: "thread" | "process";
  readonly #open = new OpenQuestions();
  #post: OrderLine = () => undefined;

  constructor(job: Job, latch: OutcomeLatch, where: "thread" | "process") {
    this.job = job;
    this.latch = latch;
    this.#where = where;
  }

  /** The order to run, as call number `id`; from here on orders go over `post`. */
  runOrder(id: number, post: OrderLine): [order: CallOrder, input: string] {
    this.id = id;
    this.#post = post;
    const { operation, facts, input, maxOutputBytes: maxBytes } = this.job;
    const { leftMs } = this.latch;
    return [{ kind: "run", call: id, operation, facts, leftMs, maxBytes }, JSON.stringify(input)];
  }

  /** Aborts the tool's signal. */
  abort(): void {
    this.#post({ kind: "abort", call: this.id });
  }

  /** Takes a report about this call. Nothing counts any more once there is an outcome. */
  take(report: CallReport, body: string): void {
    if (this.latch.outcome) return;
    if (report.kind === "progress") tellProgress(this.job.host, report);
    else if (report.kind === "ask") void this.#answer(report, body);
    else if (report.kind === "failed") this.latch.fail(report.fault);
    else this.latch.settle(this.#readOutput(body));
  }

  async #answer(report: Extract<CallReport, { kind: "ask" }>, body: string): Promise<void> {
    const { question, op } = report;
    if (!this.#open.tryOpen(op)) {
      this.latch.fail({
        kind: "died",
        message: `the tool's ${this.#where} broke the protocol: too many questions`,
      });
      return;
    }
    const { body: answer, ...rest } = await answerFor(this.job.host, op, body);
    this.#open.close(op);
    if (!this.latch.outcome) this.#post({ kind: "answer", call: this.id, question, ...rest }, answer);
  }

  #readOutput(body: string): Outcome {
    const bytes = Buffer.byteLength(body);
    if (bytes > this.job.maxOutputBytes) return { ok: false, fault: { kind: "output_too_large", bytes } };
    try {
      return { ok: true, output: JSON.parse(body) };
    } catch {
      const message = `the ${this.#where} sent an output that is not JSON`;
      return { ok: false, fault: { kind: "not_json", message } };
    }
  }
}
