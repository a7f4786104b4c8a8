import { isJsonObject, type JsonValue } from "@sallyport/protocol";
import type { Proof } from "./keyword-proofs.ts";
import { sameMeaning } from "./same-meaning.ts";
import { differentTypes, differentValues } from "./scalar-proofs.ts";
import { type Conjunct, conjunctsOf, type SchemaSide } from "./schema-conjuncts.ts";
import type { BreakingChange } from "./schema-diff.ts";
import { Facts } from "./schema-facts.ts";
import type { Obligation } from "./schema-inclusion.ts";

const CANNOT_TELL = "changed in a way that cannot be compared";

/** Keywords that combine schemas for the same value. allOf is taken apart before and needs no proof of its own. */
export const COMBINATOR_PROOFS: Record<string, Proof> = {
  anyOf: { run: proveAnyOf },
  oneOf: { run: proveOneOf },
  not: { run: proveNot },
  if: { run: proveIf },
};

function branchesOf(value: JsonValue | undefined): JsonValue[] {
  return Array.isArray(value) ? value : [];
}

function fits(obligation: Obligation, branch: JsonValue): boolean {
  const target = { schema: branch, side: obligation.target.side, path: obligation.path };
  return obligation.here(obligation.facts.conjuncts, target).length === 0;
}

function proveAnyOf(obligation: Obligation): BreakingChange[] {
  if (branchesOf(obligation.value).some((branch) => fits(obligation, branch))) return [];
  return obligation.fail("may fit none of the alternatives", "may fit none of the former alternatives");
}

/** One alternative fits and all others cannot, or the alternatives are the same ones as before. */
function proveOneOf(obligation: Obligation): BreakingChange[] {
  const { facts, target, value, fail } = obligation;
  const branches = branchesOf(value);
  const onlyOne = branches.some(
    (branch, index) =>
      fits(obligation, branch) &&
      branches.every((other, at) => at === index || areDisjoint(facts, asFacts(other, target.side))),
  );
  if (onlyOne || hasSameOneOf(obligation)) return [];
  return fail("may not fit exactly one alternative", "may not fit exactly one of the former alternatives");
}

function hasSameOneOf({ facts, target, value, path, here }: Obligation): boolean {
  const includes = (from: [JsonValue, SchemaSide], to: [JsonValue, SchemaSide]) =>
    here(conjunctsOf(...from), { schema: to[0], side: to[1], path }).length === 0;
  return facts.conjuncts.some(({ schema, side }) => {
    const ours = branchesOf(schema.oneOf);
    const theirs = branchesOf(value);
    if (ours.length !== theirs.length || ours.length === 0) return false;
    return ours.every((branch, index) => {
      const other = theirs[index];
      if (other === undefined) return false;
      return includes([branch, side], [other, target.side]) && includes([other, target.side], [branch, side]);
    });
  });
}

function asFacts(schema: JsonValue, side: SchemaSide): Facts | undefined {
  const conjuncts = conjunctsOf(schema, side);
  return conjuncts === "nothing" ? undefined : new Facts(conjuncts);
}

/** No value satisfies both: by type, by listed values, or by a required property that tells them apart. */
function areDisjoint(first: Facts, second: Facts | undefined): boolean {
  if (!second || differentTypes(first, second) || differentValues(first, second)) return true;
  if ([...first.types(), ...second.types()].some((type) => type !== "object")) return false;
  return [...first.propertyNames()].some((name) => {
    const [ours, theirs] = [first.property(name), second.property(name)];
    if (!first.requires(name) || ours === "nothing" || theirs === "nothing") return false;
    return differentValues(new Facts(ours), new Facts(theirs));
  });
}

function proveNot(obligation: Obligation): BreakingChange[] {
  const { facts, target, value, path, here, fail } = obligation;
  if (areDisjoint(facts, asFacts(value, target.side))) return [];
  const excluded = conjunctsOf(value, target.side);
  const known = facts.conjuncts.filter(({ schema }) => schema.not !== undefined);
  const excludedBefore = known.some(
    ({ schema, side }) => here(excluded, { schema: schema.not, side, path }).length === 0,
  );
  return excludedBefore ? [] : fail("may newly be excluded", "may be what was excluded before");
}

function proveIf(obligation: Obligation): BreakingChange[] {
  const { facts, target, fail } = obligation;
  if (target.schema.then === undefined && target.schema.else === undefined) return [];
  const proved = facts.conjuncts.some((known) => impliesCondition(known, obligation));
  return proved ? [] : fail(CANNOT_TELL, CANNOT_TELL);
}

/** The same condition with the same or stricter consequences. */
function impliesCondition(known: Conjunct, { target, path, here }: Obligation): boolean {
  const [ours, theirs] = [known.schema.if, target.schema.if];
  if (!isJsonObject(ours) || !isJsonObject(theirs) || !sameMeaning(ours, theirs)) return false;
  return ["then", "else"].every((keyword) => {
    const consequence = conjunctsOf(known.schema[keyword], known.side);
    const demanded = { schema: target.schema[keyword], side: target.side, path: `${path}/${keyword}` };
    return here(consequence, demanded).length === 0;
  });
}
