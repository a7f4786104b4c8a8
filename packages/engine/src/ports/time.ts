/** Where the engine gets time, ids and chance, so that tests can fix all three. */
export interface Clock {
  /** Unix milliseconds. */
  now(): number;
  /** Milliseconds since some moment of this process, never set back; left out: durations are measured by `now`. */
  elapsed?(): number;
}

export interface Ids {
  /** A new UUID that sorts by time of creation. */
  next(): string;
}

/** A number in [0, 1), as Math.random. */
export type Random = () => number;
