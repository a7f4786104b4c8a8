import type { JsonObject, JsonValue } from "@sallyport/protocol";
import type { FieldKind } from "./field-name.ts";
import type { Hiding } from "./hiding.ts";
import { markerOf, REDACTED } from "./marker.ts";
import { isCardNumber } from "./text/card.ts";
import type { TextRule } from "./text/rule.ts";

/** What a field's name says, and how the name itself is shown. */
export interface JudgedName {
  kind: FieldKind;
  shown: string;
}

/** By what values are redacted. */
export interface Criteria {
  text: TextRule;
  hiding: Hiding;
  name(name: string): JudgedName;
}

/** Says that the walk has to be given up. */
export const GIVEN_UP = Symbol("given up");
export type Kept = JsonValue | typeof GIVEN_UP;

/** Gives what is to be kept of a value inside another. */
export type Visit = (value: JsonValue) => Kept;

const CARD = markerOf("CARD");
const SMALLEST_CARD = 1e12;

/** What is to be kept of a text, a number, a boolean or null. */
export function redactScalar(value: JsonValue, { text }: Criteria): JsonValue {
  if (typeof value === "string") return text(value);
  if (typeof value === "number" && value >= SMALLEST_CARD && isCardNumber(value)) return CARD;
  return value;
}

/** The array with each item visited, itself when none changed. An item after `--password` goes by that name. */
export function redactItems(items: JsonValue[], visit: Visit, { name, hiding }: Criteria): Kept {
  let copy: JsonValue[] | undefined;
  for (let at = 0; at < items.length; at += 1) {
    const before = items[at] as JsonValue;
    const flag = at === 0 ? undefined : items[at - 1];
    const after =
      typeof flag === "string" &&
      flag.startsWith("--") &&
      name(flag).kind !== "ordinary" &&
      hiding.item(items, at)
        ? withoutSecret(before, "secret")
        : visit(before);
    if (after === GIVEN_UP) return GIVEN_UP;
    if (after === before) continue;
    copy ??= items.slice();
    copy[at] = after;
  }
  return copy ?? items;
}

/** The object with each value visited or, by its name, taken out; itself when nothing changed. */
export function redactFields(object: JsonObject, visit: Visit, criteria: Criteria): Kept {
  const names = Object.keys(object);
  const values: JsonValue[] = Object.values(object);
  let changed = false;
  for (let at = 0; at < names.length; at += 1) {
    const name = names[at] as string;
    const before = values[at] as JsonValue;
    const { kind: own, shown } = criteria.name(name);
    const kind = name === "value" ? labelKind(object, criteria) : own;
    const isShown = kind === "ordinary" || !criteria.hiding.field(before);
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

/** Nothing, emptiness and yes or no tell no secret, and a reader wants to know of them. */
function withoutSecret(value: JsonValue, kind: FieldKind): JsonValue {
  if (value === null || typeof value === "boolean" || value === "") return value;
  if (typeof value === "number" && kind === "secret_unless_number") return value;
  return typeof value === "object" && isEmpty(value) ? value : REDACTED;
}

function isEmpty(value: JsonValue[] | JsonObject): boolean {
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
