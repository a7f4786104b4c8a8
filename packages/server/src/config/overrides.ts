/** Where a setting comes from. */
export type Origin =
  | { kind: "default" }
  | { kind: "file"; file: string; line: number; column: number }
  | { kind: "environment"; variable: string }
  | { kind: "flag"; flag: string };

/** A setting from outside the file: it counts instead of what the file says there. */
export interface Override {
  path: readonly string[];
  value: unknown;
  origin: Extract<Origin, { kind: "environment" | "flag" }>;
}

/** The value with each override in its place, in the order given; what it was made from stays as it is. */
export function overlay(base: unknown, overrides: readonly Override[]): unknown {
  if (overrides.length === 0) return base;
  const root = isPlain(base) ? structuredClone(base) : (base ?? {});
  for (const { path, value } of overrides) place(root, path, value);
  return root;
}

/** Where the file has something else than keys on the way, the file is wrong, and stays so for whoever judges it. */
function place(root: unknown, path: readonly string[], value: unknown): void {
  let holder = root;
  for (const step of path.slice(0, -1)) {
    if (!isPlain(holder)) return;
    if (holder[step] === undefined || holder[step] === null) define(holder, step, {});
    holder = holder[step];
  }
  const last = path.at(-1);
  if (isPlain(holder) && last !== undefined) define(holder, last, value);
}

/** Unlike an assignment it makes a key of any name, `__proto__` too. */
function define(holder: object, name: string, value: unknown): void {
  Object.defineProperty(holder, name, { value, enumerable: true, writable: true, configurable: true });
}

function isPlain(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** The override that decided about a place, if one did. */
export function overrideOf(
  path: readonly PropertyKey[],
  overrides: readonly Override[],
): Override | undefined {
  return overrides.findLast((override) => override.path.every((step, index) => step === path[index]));
}

/** What stands at a place of a value; undefined when nothing does. */
export function valueAt(value: unknown, path: readonly PropertyKey[]): unknown {
  let here = value;
  for (const step of path) {
    if (typeof here !== "object" || here === null || !Object.hasOwn(here, step)) return undefined;
    here = Reflect.get(here, step);
  }
  return here;
}
