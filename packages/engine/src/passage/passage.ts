import { SallyportError } from "@sallyport/protocol";
import type { EngineContext } from "../context.ts";
import type { Progress } from "../journal/progress.ts";
import type { SpanOutcome } from "../ports/platform.ts";
import type { CallSpan } from "../telemetry/index.ts";

/** What a stage returns when the call goes no further. */
export abstract class Stop {
  readonly isStop = true;
  readonly progress: Progress;

  constructor(progress: Progress) {
    this.progress = progress;
  }
}

interface Stage {
  readonly name: string;
  // biome-ignore lint/suspicious/noExplicitAny: the builder below has checked that neighbours fit
  readonly run: (at: any, context: EngineContext) => unknown;
}

/** Who looks at a call on its way. */
interface Companion {
  /** Given what each stage returns, so that it is known how far the call came when a later stage throws. */
  reached?(at: { progress: Progress }, stage: string): void;
  /** Gets a span for each stage. */
  readonly span?: CallSpan | undefined;
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
    run: (at: End, context: EngineContext) => Next | Promise<Next>,
  ): Passage<Start, Exclude<Next, Stop>, Stops | Extract<Next, Stop>> {
    return new Passage([...this.stages, { name, run }]);
  }

  /** Walks the stages until one stops or all are done. Rejects with whatever a stage throws. */
  async walk(start: Start, context: EngineContext, companion: Companion = {}): Promise<End | Stops> {
    const { span } = companion;
    let at: unknown = start;
    for (const stage of this.stages) {
      const next = span ? traced(stage, at, { context, span }) : stage.run(at, context);
      at = next instanceof Promise ? await next : next;
      companion.reached?.(at as { progress: Progress }, stage.name);
      if (at instanceof Stop) return at as Stops;
    }
    return at as End;
  }
}

/** The stage inside a span of its own. */
async function traced(
  { name, run }: Stage,
  at: unknown,
  { context, span }: { context: EngineContext; span: CallSpan },
): Promise<unknown> {
  const stage = span.stage(name);
  try {
    const next = await run(at, context);
    stage.end(outcomeOf(next));
    return next;
  } catch (thrown) {
    stage.end({ ok: false, code: thrown instanceof SallyportError ? thrown.failure.code : "E3900" });
    throw thrown;
  }
}

function outcomeOf(at: unknown): SpanOutcome {
  const error = at instanceof Stop ? at.progress.error : undefined;
  return error ? { ok: false, code: error.code } : { ok: true };
}
