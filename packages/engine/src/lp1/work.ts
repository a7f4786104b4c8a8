/**
 * Less than a second. A patch of ordinary size on an ordinary file takes a thousandth of it; only many operations that each
 * have to walk through a long file of repeated lines come near.
 */
const MOST_STEPS = 100_000_000;

/** What one patch may cost, counted in lines looked at, so that the end of it does not depend on the machine. */
export class Work {
  #left: number;

  constructor(most = MOST_STEPS) {
    this.#left = most;
  }

  /** False when the patch has used up what it may cost, and must end. */
  spend(steps: number): boolean {
    this.#left -= steps;
    return this.#left >= 0;
  }
}
