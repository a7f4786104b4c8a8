export const NO = 0;
export const UNSURE = 1;
export const YES = 2;
/**
 * Three-valued truth of a condition: it does not hold, it is in doubt, it holds. The numbers are ordered: "and" is the
 * minimum, "or" is the maximum, and "not" swaps NO and YES and keeps a doubt.
 */
export type Truth = typeof NO | typeof UNSURE | typeof YES;

export function truthOf(holds: boolean): Truth {
  return holds ? YES : NO;
}

export function negate(truth: Truth): Truth {
  return (2 - truth) as Truth;
}

/** "Or" over the values; NO for an empty list. */
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
 * The truth that all values share; NO for an empty list. When the values differ the result is in doubt, so that one value
 * is enough for a prohibition and a permission needs all of them.
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
