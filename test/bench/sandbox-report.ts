import type { Timing } from "./sandbox-race.ts";

/** What we aim at: a share of another's time, or so many milliseconds more than it. */
export interface Aim {
  what: string;
  of: string;
  against: string;
  as: "ratio" | "difference in ms";
  /** Left out: for orientation only. */
  most?: number;
}

/** An aim with what came out, by the quietest round and over all rounds. */
export interface Outcome extends Aim {
  best: number;
  all: number;
}

export interface RaceReport {
  title: string;
  timings: Timing[];
  outcomes: Outcome[];
  /** What could not be measured here, and why. */
  unavailable: string[];
}

/** Puts timings and aims together; an aim against what was not measured is left out. */
export function report(
  title: string,
  timings: Timing[],
  { aims, unavailable = [] }: { aims: readonly Aim[]; unavailable?: string[] },
): RaceReport {
  const outcomes = aims.flatMap((aim) => outcomeOf(aim, timings));
  return { title, timings, outcomes, unavailable };
}

function outcomeOf(aim: Aim, timings: readonly Timing[]): Outcome[] {
  const of = timings.find(({ name }) => name === aim.of);
  const against = timings.find(({ name }) => name === aim.against);
  if (!of || !against) return [];
  const compare = aim.as === "ratio" ? (a: number, b: number) => a / b : (a: number, b: number) => a - b;
  return [{ ...aim, best: compare(of.bestMs, against.bestMs), all: compare(of.p50Ms, against.p50Ms) }];
}

/** Prints a race as tables for people. */
export function printReport({ title, timings, outcomes, unavailable }: RaceReport): void {
  console.log(`\n${title}`);
  console.table(
    Object.fromEntries(
      timings.map(({ name, runs, bestMs, p50Ms, p99Ms, minMs }) => [
        name,
        {
          "best-round p50 ms": bestMs.toFixed(2),
          "all p50 ms": p50Ms.toFixed(2),
          "p99 ms": p99Ms.toFixed(1),
          "min ms": minMs.toFixed(2),
          runs,
        },
      ]),
    ),
  );
  for (const outcome of outcomes) console.log(`  ${sentence(outcome)}`);
  for (const reason of unavailable) console.log(`  not available: ${reason}`);
}

function sentence({ what, against, as, most, best, all }: Outcome): string {
  const unit = as === "ratio" ? "×" : "ms over";
  const aim = most === undefined ? "" : `; aim ≤ ${most}: ${best <= most ? "met" : "missed"}`;
  return `${what}: ${best.toFixed(2)} ${unit} ${against} (all rounds ${all.toFixed(2)})${aim}`;
}
