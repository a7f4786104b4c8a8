import type { JsonValue } from "@sallyport/protocol";
import { type Criteria, GIVEN_UP, type Kept, redactFields, redactItems, redactScalar } from "./json-walk.ts";

/** The stack holds this many levels with ease; inputs are bounded to fewer. */
const MOST_DEPTH = 100;
/** An object that occurs in itself or many times over would otherwise be walked for ever. */
const MOST_CONTAINERS = 50_000;
const CIRCULAR = "[CIRCULAR]";

/**
 * The value as it may be kept, itself when there was nothing to take out. Ordinary values are walked by recursion; one
 * that is very deep, very large or contains itself is walked again without.
 */
export function redactJson(value: JsonValue, criteria: Criteria): JsonValue {
  if (typeof value !== "object" || value === null) return redactScalar(value, criteria);
  const kept = redactShallow(value, criteria);
  return kept === GIVEN_UP ? redactDeep(value, criteria) : kept;
}

/** As `redactJson`, but given up when the value is too deep or too large for recursion. */
export function redactShallow(value: JsonValue, criteria: Criteria): Kept {
  let depth = 0;
  let containers = 0;
  const visit = (inner: JsonValue): Kept => {
    if (typeof inner !== "object" || inner === null) return redactScalar(inner, criteria);
    if (depth === MOST_DEPTH || containers === MOST_CONTAINERS) return GIVEN_UP;
    depth += 1;
    containers += 1;
    const kept = Array.isArray(inner)
      ? redactItems(inner, visit, criteria)
      : redactFields(inner, visit, criteria);
    depth -= 1;
    return kept;
  };
  return visit(value);
}

/** Children before parents, each once, with a stack of our own. */
function redactDeep(root: JsonValue & object, criteria: Criteria): JsonValue {
  const kept = new Map<object, JsonValue>();
  const entered = new Set<object>();
  const visit = (inner: JsonValue): JsonValue =>
    isContainer(inner) ? (kept.get(inner) ?? CIRCULAR) : redactScalar(inner, criteria);
  const stack = [root];
  for (let top = stack.at(-1); top !== undefined; top = stack.at(-1)) {
    if (entered.has(top)) {
      stack.pop();
      if (!kept.has(top)) kept.set(top, redactContainer(top, visit, criteria));
      continue;
    }
    entered.add(top);
    for (const inner of Object.values(top)) if (isContainer(inner) && !entered.has(inner)) stack.push(inner);
  }
  return kept.get(root) ?? CIRCULAR;
}

function isContainer(value: JsonValue): value is JsonValue & object {
  return typeof value === "object" && value !== null;
}

function redactContainer(
  value: JsonValue & object,
  visit: (inner: JsonValue) => JsonValue,
  criteria: Criteria,
): JsonValue {
  const kept = Array.isArray(value)
    ? redactItems(value, visit, criteria)
    : redactFields(value, visit, criteria);
  return kept === GIVEN_UP ? CIRCULAR : kept;
}
