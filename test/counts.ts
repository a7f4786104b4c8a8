/**
 * How many random inputs, kills and runs the tests make: in an ordinary run, and in `npm run soak` (SALLYPORT_SOAK=1).
 * A variable of the same name sets one of them.
 */
const COUNTS = {
  /** Inputs of one property; also the sequences of random work on files. */
  SALLYPORT_PROPERTY_RUNS: [300, 5_000],
  SALLYPORT_CALL_KILLS: [60, 3_000],
  SALLYPORT_EFFECT_KILLS: [40, 2_000],
  /** Faults of a fleet of servers; in an ordinary run for four minutes at most. A long run that is cut goes on where it was. */
  SALLYPORT_FLEET_FAULTS: [300, 3_000],
  /** Fleets in a simulated time, each from its beginning to its rest. */
  SALLYPORT_SIMULATED_WORLDS: [200, 10_000],
  SALLYPORT_JOURNAL_KILLS: [20, 1_000],
  SALLYPORT_FORGET_KILLS: [8, 300],
  SALLYPORT_SANDBOX_RUNS: [150, 10_000],
  SALLYPORT_SOAK_CALLS: [100_000, 1_000_000],
  SALLYPORT_LOAD_SECONDS: [4, 60],
} as const;

export const IS_SOAK = process.env.SALLYPORT_SOAK === "1";

export function countOf(name: keyof typeof COUNTS): number {
  const [usual, soak] = COUNTS[name];
  return Number(process.env[name] ?? (IS_SOAK ? soak : usual));
}

/** The seed of everything random in this run, from vitest.config.ts: a fixed one, in a long run another one each time. */
export function seedOf(): number {
  const seed = Number(process.env.SALLYPORT_SEED);
  if (!Number.isInteger(seed)) throw new Error("SALLYPORT_SEED is not an integer");
  return seed;
}
