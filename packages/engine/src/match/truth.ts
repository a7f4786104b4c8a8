export const NO = 0;
export const UNSURE = 1;
export const YES = 2;
/**
 * What can be said of a condition: it does not hold, nobody can tell, it holds. The order is the point: "and" is the
 * least of them, "or" the most, and "not" turns them round while a doubt stays a doubt.
 */
export type Truth = typeof NO | typeof UNSURE | typeof YES;

export function negate(truth: Truth): Truth {
  return (2 - truth) as Truth;
}

/** The most that holds of any of the values; nothing holds of none. */
export function anyOf<Value>(values: readonly Value[], judge: (value: Value) => Truth): Truth {
  let most: Truth = NO;
  for (const value of values) {
    const truth = judge(value);
    if (truth === YES) return YES;
    if (truth > most) most = truth;
  }
  return most;
}

/**
 * What holds of all the values alike; nothing holds of none. Where some hold and some do not it stays in doubt, so
 * that a prohibition is met by one of them and a permission only by all.
 */
export function allAlike<Value>(values: readonly Value[], judge: (value: Value) => Truth): Truth {
  let common: Truth | undefined;
  for (const value of values) {
    const truth = judge(value);
    if (truth === UNSURE || (common !== undefined && truth !== common)) return UNSURE;
    common = truth;
  }
  return common ?? NO;
}
