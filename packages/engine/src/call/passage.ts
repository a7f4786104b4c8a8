import { type Failure, SallyportError } from "@sallyport/protocol";
import type { SpanOutcome } from "../ports/telemetry.ts";
import { CallSpan } from "../telemetry/index.ts";
import type { House } from "./house.ts";

/** What a stage returns when the call goes no further. */
export abstract class Stop {
  readonly isStop = true;
}

interface Stage {
  readonly name: string;
  // biome-ignore lint/suspicious/noExplicitAny: the builder below has checked that neighbours fit
  readonly run: (at: any, house: House) => unknown;
}

/**
 * Stages in order, as data. A stage is accepted only where the one before it provides what it needs, so a passage
 * with its stages in the wrong order does not compile. `Stops` collects the ways it can end early.
 */
export class Passage<Start, End, Stops extends Stop = never> {
  readonly stages: readonly Stage[];

  private constructor(stages: readonly Stage[]) {
    this.stages = stages;
  }

  static from<Start>(): Passage<Start, Start> {
    return new Passage<Start, Start>([]);
  }

  stage<Next>(
    name: string,
    run: (at: End, house: House) => Next | Promise<Next>,
  ): Passage<Start, Exclude<Next, Stop>, Stops | Extract<Next, Stop>> {
    return new Passage([...this.stages, { name, run }]);
  }

  /** Walks the stages until one stops or all are done. Rejects with whatever a stage throws. */
  async walk(start: Start, house: House): Promise<End | Stops> {
    const span = spanOf(start);
    if (span) return await this.#walkTraced(start, house, span);
    let at: unknown = start;
    for (const { run } of this.stages) {
      const next = run(at, house);
      at = next instanceof Promise ? await next : next;
      if (at instanceof Stop) return at as Stops;
    }
    return at as End;
  }

  /** The same, with a span for each stage. Apart, so that a call nobody traces pays nothing for it. */
  async #walkTraced(start: Start, house: House, span: CallSpan): Promise<End | Stops> {
    let at: unknown = start;
    for (const { name, run } of this.stages) {
      const stage = span.stage(name);
      try {
        at = await run(at, house);
      } catch (thrown) {
        stage.end({ ok: false, code: thrown instanceof SallyportError ? thrown.failure.code : "E3900" });
        throw thrown;
      }
      stage.end(outcomeOf(at));
      if (at instanceof Stop) return at as Stops;
    }
    return at as End;
  }
}

/** The span of the call that walks, where there is one. */
function spanOf(start: unknown): CallSpan | undefined {
  const span = (start as { attempt?: { span?: unknown } } | undefined)?.attempt?.span;
  return span instanceof CallSpan ? span : undefined;
}

/** What a stop may say about why: a refusal its error, an end its own or that of the state it is in. */
interface Reasons {
  error?: Failure;
  life?: { error?: Failure; reason?: Failure };
}

function outcomeOf(at: unknown): SpanOutcome {
  if (!(at instanceof Stop)) return { ok: true };
  const { error, life } = at as Stop & Reasons;
  const failed = error ?? life?.error ?? life?.reason;
  return failed ? { ok: false, code: failed.code } : { ok: true };
}
