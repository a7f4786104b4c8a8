import type { JsonObject, JsonValue } from "@sallyport/protocol";
import type { FieldKind } from "./field-name.ts";
import type { HideRules } from "./hide-rules.ts";
import { isCardNumber } from "./personal.ts";
import { markerOf, REDACTED } from "./text.ts";

/** What a field's name says, and how the name itself is shown. */
export interface JudgedName {
  kind: FieldKind;
  shown: string;
}

/** How values are redacted. */
export interface Criteria {
  text(text: string): string;
  hide: HideRules;
  name(name: string): JudgedName;
}

/** The value is too deep or too large for recursion. */
export const GIVEN_UP = Symbol("given up");
type Kept = JsonValue | typeof GIVEN_UP;

/** Gives what is to be kept of a value inside another. */
type Visit = (value: JsonValue) => Kept;

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
  if (!isContainer(value)) return redactScalar(value, criteria);
  const kept = redactShallow(value, criteria);
  return kept === GIVEN_UP ? redactDeep(value, criteria) : kept;
}

/** As `redactJson`, but given up when the value is too deep or too large for recursion. */
export function redactShallow(value: JsonValue, criteria: Criteria): Kept {
  let depth = 0;
  let containers = 0;
  const visit = (inner: JsonValue): Kept => {
    if (!isContainer(inner)) return redactScalar(inner, criteria);
    if (depth === MOST_DEPTH || containers === MOST_CONTAINERS) return GIVEN_UP;
    depth += 1;
    containers += 1;
    const kept = redactContainer(inner, visit, criteria);
    depth -= 1;
    return kept;
  };
  return visit(value);
}

/** Children before parents, each once, with a stack of our own. */
function redactDeep(root: Container, criteria: Criteria): JsonValue {
  const done = new Map<Container, JsonValue>();
  const entered = new Set<Container>();
  const visit = (inner: JsonValue): JsonValue =>
    isContainer(inner) ? (done.get(inner) ?? CIRCULAR) : redactScalar(inner, criteria);
  const stack = [root];
  for (let top = stack.at(-1); top !== undefined; top = stack.at(-1)) {
    if (entered.has(top)) {
      stack.pop();
      if (!done.has(top)) done.set(top, redactContainer(top, visit, criteria) as JsonValue);
      continue;
    }
    entered.add(top);
    for (const inner of Object.values(top)) if (isContainer(inner) && !entered.has(inner)) stack.push(inner);
  }
  return visit(root);
}

type Container = JsonValue[] | JsonObject;

function isContainer(value: JsonValue): value is Container {
  return typeof value === "object" && value !== null;
}

function redactContainer(value: Container, visit: Visit, criteria: Criteria): Kept {
  return Array.isArray(value) ? redactItems(value, visit, criteria) : redactFields(value, visit, criteria);
}

const SMALLEST_CARD = 1e12;

/** What is to be kept of a text, a number, a boolean or null. */
function redactScalar(value: JsonValue, { text }: Criteria): JsonValue {
  if (typeof value === "string") return text(value);
  if (typeof value === "number" && value >= SMALLEST_CARD && isCardNumber(value)) return markerOf("CARD");
  return value;
}

/** The array with each item visited, itself when none changed. */
function redactItems(items: JsonValue[], visit: Visit, criteria: Criteria): Kept {
  let copy: JsonValue[] | undefined;
  for (let at = 0; at < items.length; at += 1) {
    const before = items[at] as JsonValue;
    const after = isAfterSecretFlag(items, at, criteria)
      ? withoutSecret(before, "secret")
      : visit(withoutUserPassword(items, at, criteria.hide));
    if (after === GIVEN_UP) return GIVEN_UP;
    if (after === before) continue;
    copy ??= items.slice();
    copy[at] = after;
  }
  return copy ?? items;
}

/** An item after `--password` goes by that name. */
function isAfterSecretFlag(items: readonly JsonValue[], at: number, { name, hide }: Criteria): boolean {
  const flag = at === 0 ? undefined : items[at - 1];
  if (typeof flag !== "string" || !flag.startsWith("--")) return false;
  return name(flag).kind !== "ordinary" && hide.item(items, at);
}

const USER_FLAG = /^(?:-[A-Za-z]{0,8}[uU]|--(?:proxy-)?user)$/;

/** An item, without the password of `["curl", "-u", "name:password"]`. */
function withoutUserPassword(items: readonly JsonValue[], at: number, hide: HideRules): JsonValue {
  const item = items[at] as JsonValue;
  const flag = items[at - 1];
  if (typeof item !== "string" || typeof flag !== "string" || !USER_FLAG.test(flag)) return item;
  const start = item.indexOf(":") + 1;
  if (start < 2 || start === item.length || !items.slice(0, at).some(isCurl)) return item;
  return hide.part(item, { start, end: item.length }) ? item.slice(0, start) + markerOf("PASSWORD") : item;
}

function isCurl(item: JsonValue): boolean {
  return typeof item === "string" && /(?:^|\/)curl$/.test(item);
}

/** The object with each value visited or, by its name, taken out; itself when nothing changed. */
function redactFields(object: JsonObject, visit: Visit, criteria: Criteria): Kept {
  const names = Object.keys(object);
  const values: JsonValue[] = Object.values(object);
  let changed = false;
  for (let at = 0; at < names.length; at += 1) {
    const name = names[at] as string;
    const before = values[at] as JsonValue;
    const { kind: own, shown } = criteria.name(name);
    const kind = name === "value" ? labelKind(object, criteria) : own;
    const isShown = kind === "ordinary" || !criteria.hide.field(before);
    const after = isShown ? visit(before) : withoutSecret(before, kind);
    if (after === GIVEN_UP) return GIVEN_UP;
    if (after === before && shown === name) continue;
    values[at] = after;
    names[at] = shown;
    changed = true;
  }
  return changed ? assembled(names, values) : object;
}

/** Lists of headers and of variables keep the name of a value beside it. */
function labelKind(object: JsonObject, { name }: Criteria): FieldKind {
  for (const place of ["name", "key", "header"]) {
    const label = Object.hasOwn(object, place) ? object[place] : undefined;
    if (typeof label === "string") return name(label).kind;
  }
  return "ordinary";
}

/** Null, empty values and booleans are no secrets, and a reader wants to see them. */
function withoutSecret(value: JsonValue, kind: FieldKind): JsonValue {
  if (value === null || typeof value === "boolean" || value === "") return value;
  if (typeof value === "number" && kind === "secret_unless_number") return value;
  return typeof value === "object" && isEmpty(value) ? value : REDACTED;
}

function isEmpty(value: Container): boolean {
  return Array.isArray(value) ? value.length === 0 : Object.keys(value).length === 0;
}

/** Two names that became the same marker are numbered, so that no value is lost. */
function assembled(names: readonly string[], values: readonly JsonValue[]): JsonObject {
  const uses = new Map<string, number>();
  const entries = names.map((name, at): [string, JsonValue] => {
    let own = name;
    let count = uses.get(name) ?? 0;
    while (uses.has(own)) own = `${name} (${++count + 1})`;
    uses.set(name, count).set(own, uses.get(own) ?? 0);
    return [own, values[at] as JsonValue];
  });
  return Object.fromEntries(entries);
}
