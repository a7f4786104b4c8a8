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
    let at: unknown = start;
    for (const { run } of this.stages) {
      const next = run(at, house);
      at = next instanceof Promise ? await next : next;
      if (at instanceof Stop) return at as Stops;
    }
    return at as End;
  }
}
