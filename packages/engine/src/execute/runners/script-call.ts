import type { Job, RunFault } from "../../ports/runner.ts";
import type { SandboxEnd } from "../../ports/sandbox.ts";
import { answerFor, tellProgress } from "./ask-host.ts";
import { OpenQuestions } from "./open-questions.ts";
import type { Decision, Verdict } from "./process-decision.ts";
import type { Attendance } from "./process-life.ts";
import { outputFault } from "./process-output.ts";
import { type OpenedReport, questionFrom } from "./read-report.ts";
import type { LinkListener, ScriptLink } from "./script-link.ts";
import { type CallReport, monotonicMs } from "./thread-frames.ts";
import type { HostQuestion } from "./tool-context.ts";

/** A process serves one call and is never used again. */
const CALL = 1;
/** How long a cancelled tool may tidy up before its process is ended. */
const CANCEL_GRACE_MS = 50;

const OUT_OF_MEMORY = /heap out of memory|Fatal process out of memory|allocation failed/i;

/** A call that a script's process was started or claimed for. */
export interface ScriptCallOptions {
  job: Job;
  decision: Decision;
  link: ScriptLink;
  /** What a warm process had spent when it was ready; left out for one that was started for this call. */
  warm?: { cpuMs: number };
}

/** One call in a process of its own, seen from main. Whatever the process says is read as an enemy's word. */
export class ScriptCall implements LinkListener, Attendance {
  readonly #job: Job;
  readonly #decision: Decision;
  readonly #link: ScriptLink;
  readonly #deadlineAt: number;
  readonly #cpuBeforeMs: number;
  readonly #open = new OpenQuestions();
  #sent = false;

  constructor({ job, decision, link, warm }: ScriptCallOptions) {
    this.#job = job;
    this.#decision = decision;
    this.#link = link;
    this.#deadlineAt = decision.deadlineAt;
    this.#cpuBeforeMs = warm?.cpuMs ?? 0;
    decision.grace = () => this.#askToStop();
    link.handTo(this);
    if (warm) this.#send();
  }

  cpuBeforeMs(): number {
    return this.#cpuBeforeMs;
  }

  onReport({ report, body }: OpenedReport): void {
    if (this.#decision.verdict) return;
    if (report.kind === "ready" && !this.#sent) this.#send();
    else if (report.kind === "unusable") this.#fail(report.fault);
    else if ("call" in report && report.call === CALL && this.#sent) this.#take(report, body);
    else this.onGarbage("the tool's process broke the protocol: it sent a report out of turn");
  }

  onGarbage(message: string): void {
    this.#fail({ kind: "died", message });
  }

  onTooMuchPrinted(): void {
    this.#fail(outputFault(this.#job.confinement?.limits.outputBytes ?? 0));
  }

  async conclude({ ending }: SandboxEnd): Promise<Verdict> {
    const words = await this.#link.lastWords();
    const printed = words && `; it printed: ${words}`;
    if (ending.kind === "signalled") return { ok: false, fault: signalFault(ending.signal, words) };
    const code = ending.kind === "exited" ? ` with code ${ending.code}` : "";
    return { ok: false, fault: { kind: "died", message: `the tool's process ended${code}${printed}` } };
  }

  #send(): void {
    this.#sent = true;
    const { operation, facts, input, maxOutputBytes } = this.#job;
    const leftMs = this.#deadlineAt - monotonicMs();
    const order = { operation, facts, leftMs, maxBytes: maxOutputBytes };
    this.#link.post({ kind: "run", call: CALL, ...order }, JSON.stringify(input));
  }

  /** Nothing to tidy up in a tool that has not begun. */
  #askToStop(): number {
    if (!this.#sent) return 0;
    this.#link.post({ kind: "abort", call: CALL });
    return Math.min(CANCEL_GRACE_MS, this.#deadlineAt - monotonicMs());
  }

  #take(report: CallReport, body: string): void {
    if (report.kind === "progress") tellProgress(this.#job.host, report);
    else if (report.kind === "ask") void this.#answer(report.question, questionFrom(report, body));
    else
      this.#decision.decide(report.kind === "failed" ? { ok: false, fault: report.fault } : this.#read(body));
  }

  async #answer(question: number, asked: HostQuestion): Promise<void> {
    const { method } = asked;
    if (!this.#open.mayOpen(method)) {
      this.onGarbage("the tool's process broke the protocol: too many questions");
      return;
    }
    this.#open.open(method);
    const { body, ...rest } = await answerFor(this.#job.host, asked);
    this.#open.close(method);
    if (this.#decision.verdict) return;
    this.#link.post({ kind: "answer", call: CALL, question, ...rest }, body);
  }

  #read(body: string): Verdict {
    const bytes = Buffer.byteLength(body);
    if (bytes > this.#job.maxOutputBytes) return { ok: false, fault: { kind: "output_too_large", bytes } };
    try {
      return { ok: true, output: JSON.parse(body) };
    } catch {
      const message = "the process sent an output that is not JSON";
      return { ok: false, fault: { kind: "not_json", message } };
    }
  }

  #fail(fault: RunFault): void {
    this.#decision.decide({ ok: false, fault });
  }
}

/** V8 aborts a process that has no memory left, and says so. */
function signalFault(signal: string, words: string): RunFault {
  const message = `the tool's process was ended by ${signal}${words && `; it printed: ${words}`}`;
  return OUT_OF_MEMORY.test(words)
    ? { kind: "limit", limit: "memory", message }
    : { kind: "crashed", message };
}
