import { isJsonObject, type JsonObject, type JsonValue } from "@sallyport/protocol";
import { assertionsOf, unknownProperty, wrongType } from "./assertions.ts";
import type { PatternEngine } from "./patterns.ts";
import { type Check, KIND, kindOf, type Run, type Seen } from "./run.ts";
import type { SchemaNode, SchemaTree } from "./schema-walk.ts";

export type Evaluate = (value: JsonValue, run: Run) => void;

/** Makes functions of a schema: the result reports everything that is wrong with a value. Throws what ends a run early. */
export function evaluatorOf({ root, nodes }: SchemaTree, patterns: PatternEngine): Evaluate {
  const isDynamic = [...nodes.values()].some(({ dynamicName }) => dynamicName !== undefined);
  const evaluators = new Map([...nodes.values()].map((node) => [node, new Evaluator(node, isDynamic)]));
  const of = (node: SchemaNode) => evaluators.get(node) ?? new Evaluator(node, isDynamic);
  for (const [node, evaluator] of evaluators) {
    evaluator.checks.push(
      ...assertionsOf(evaluator.schema, patterns),
      ...new Applicators(node, of, patterns).checks(),
    );
  }
  const first = of(root);
  return (value, run) => void first.evaluate(value, run);
}

/** One schema, ready to meet values. */
class Evaluator {
  /** In the order in which they run. */
  readonly checks: Check[] = [];
  readonly node: SchemaNode;
  /** The keywords; none for `true` and `false`. */
  readonly schema: JsonObject;
  readonly #isDynamic: boolean;
  readonly #kinds: number;
  readonly #steps: number;
  readonly #tracks: boolean;

  constructor(node: SchemaNode, isDynamic: boolean) {
    this.node = node;
    this.schema = isJsonObject(node.schema) ? node.schema : {};
    this.#isDynamic = isDynamic;
    this.#kinds = kindsOf(this.schema.type);
    this.#steps = 1 + ([...node.children.values()].flat().length >> 3);
    this.#tracks = node.children.has("unevaluatedProperties") || node.children.has("unevaluatedItems");
  }

  /** True when the value is valid; else the run has got errors. What a valid schema evaluated is added to `outer`. */
  evaluate(data: JsonValue, run: Run, outer?: Seen): boolean {
    run.spend(this.#steps);
    const before = run.errors;
    const kind = kindOf(data);
    const seen: Seen | undefined = this.#tracks || outer ? new Set() : undefined;
    const isEntered = this.#isDynamic && !run.scope.includes(this.node.resource);
    if (isEntered) run.scope.push(this.node.resource);
    if ((this.#kinds & kind) === 0) run.fail(() => wrongType([this.schema.type ?? null].flat(), data));
    for (const check of this.checks) if ((check.kinds & kind) !== 0) check.test(data, run, seen);
    if (isEntered) run.scope.pop();
    if (run.errors !== before) return false;
    if (outer && seen) merge(seen, outer, run);
    return true;
  }

  /** The same for a member of the value. */
  evaluateAt(key: string | number, data: JsonValue | undefined, run: Run): boolean {
    const before = run.errors;
    try {
      return this.evaluate(data ?? null, run);
    } finally {
      // Also where enough errors end the run.
      if (run.errors !== before) run.locate(before, key);
    }
  }

  /** Whether the value is valid, where an invalid one is not wrong. */
  attempt(data: JsonValue, run: Run, seen?: Seen): boolean {
    const before = run.errors;
    run.tentative += 1;
    const isValid = this.evaluate(data, run, seen);
    run.tentative -= 1;
    run.dropErrors(before);
    return isValid;
  }
}

const EVERY_KIND = -1;

function kindsOf(type: JsonValue | undefined): number {
  if (type === undefined) return EVERY_KIND;
  return [type].flat().reduce<number>((kinds, name) => kinds | KIND[name as keyof typeof KIND], 0);
}

function merge(seen: Seen, outer: Seen, run: Run): void {
  run.spend(seen.size >> 3);
  for (const key of seen) outer.add(key);
}

const NOT_ALLOWED = { reason: "is not allowed here", suggestion: "Leave it out." };
const EXCLUDED = { reason: "is what the schema excludes", suggestion: "Give another value." };
const NAME_REFUSED = { reason: "is not an allowed property name", suggestion: "Rename the property." };
const NO_ALTERNATIVE = {
  reason: "fits none of the allowed alternatives",
  suggestion: "Solve the other issues here and below for one of the alternatives.",
};
const SEVERAL_ALTERNATIVES = {
  reason: "fits more than one alternative where exactly one is allowed",
  suggestion: "Leave out what belongs to the other alternative.",
};

/** The checks of the keywords that hold or name subschemas. */
class Applicators {
  readonly #node: SchemaNode;
  readonly #of: (node: SchemaNode) => Evaluator;
  readonly #patterns: PatternEngine;

  constructor(node: SchemaNode, of: (node: SchemaNode) => Evaluator, patterns: PatternEngine) {
    this.#node = node;
    this.#of = of;
    this.#patterns = patterns;
  }

  /** Those that look at the same value come first: what they evaluate counts as evaluated here. */
  checks(): Check[] {
    const about = (kinds: number, tests: Check["test"][]) => tests.map((test) => ({ kinds, test }));
    return [
      ...about(KIND.any, this.#node.schema === false ? [(_data, run) => run.fail(() => NOT_ALLOWED)] : []),
      ...about(KIND.any, [...this.#references(), ...this.#conjuncts(), ...this.#alternatives()]),
      ...about(KIND.any, [...this.#exclusions(), ...this.#conditions()]),
      ...about(KIND.object, this.#dependents()),
      ...about(KIND.array, this.#items()),
      ...about(KIND.object, this.#properties()),
    ];
  }

  #all(keyword: string): Evaluator[] {
    return (this.#node.children.get(keyword) ?? []).map(({ node }) => this.#of(node));
  }

  #one(keyword: string): Evaluator | undefined {
    return this.#all(keyword)[0];
  }

  #named(keyword: string): [name: string, evaluator: Evaluator][] {
    const children = this.#node.children.get(keyword) ?? [];
    return children.map(({ key = "", node }) => [key, this.#of(node)]);
  }

  #references(): Check["test"][] {
    const { targets, dynamicName } = this.#node;
    return [...targets].map(([keyword, target]) => {
      const evaluator = this.#of(target);
      if (keyword !== "$dynamicRef" || dynamicName === undefined) return sameValue(evaluator);
      // The outermost resource on the way here that has the dynamic anchor gives the target.
      return (data, run, seen) => {
        run.spend(run.scope.length >> 3);
        const outer = run.scope.find(({ dynamicAnchors }) => dynamicAnchors.has(dynamicName));
        const found = outer?.dynamicAnchors.get(dynamicName);
        (found ? this.#of(found) : evaluator).evaluate(data, run, seen);
      };
    });
  }

  #conjuncts(): Check["test"][] {
    return this.#all("allOf").map(sameValue);
  }

  #alternatives(): Check["test"][] {
    return (["anyOf", "oneOf"] as const).flatMap((keyword) => {
      const branches = this.#all(keyword);
      if (branches.length === 0) return [];
      return (data: JsonValue, run: Run, seen: Seen | undefined) => {
        const before = run.errors;
        let fitting = 0;
        run.tentative += 1;
        for (const branch of branches) if (branch.evaluate(data, run, seen)) fitting += 1;
        run.tentative -= 1;
        if (fitting > 0) run.dropErrors(before);
        if (fitting === 0) run.fail(() => NO_ALTERNATIVE);
        else if (keyword === "oneOf" && fitting > 1) run.fail(() => SEVERAL_ALTERNATIVES);
      };
    });
  }

  #exclusions(): Check["test"][] {
    return this.#all("not").map((excluded) => (data, run) => {
      if (excluded.attempt(data, run)) run.fail(() => EXCLUDED);
    });
  }

  #conditions(): Check["test"][] {
    const [then, otherwise] = [this.#one("then"), this.#one("else")];
    return this.#all("if").map((condition) => (data, run, seen) => {
      const branch = condition.attempt(data, run, seen) ? then : otherwise;
      branch?.evaluate(data, run, seen);
    });
  }

  #dependents(): Check["test"][] {
    const dependents = [...this.#named("dependentSchemas"), ...this.#named("dependencies")];
    return dependents.map(([name, evaluator]) => (data: JsonObject, run: Run, seen: Seen | undefined) => {
      if (Object.hasOwn(data, name)) evaluator.evaluate(data, run, seen);
    });
  }

  #items(): Check["test"][] {
    const prefix = this.#all("prefixItems");
    const rest = this.#one("items");
    const contains = this.#contains();
    const unevaluated = this.#one("unevaluatedItems");
    if (prefix.length === 0 && !rest && !contains && !unevaluated) return [];
    const isClosed = prefix.length > 0 && rest?.node.schema === false;
    const limit = `must not have more than ${prefix.length} items`;
    const tooMany = { reason: limit, suggestion: "Leave out the items beyond that." };
    const test = (items: JsonValue[], run: Run, seen: Seen | undefined) => {
      const before = run.errors;
      if (isClosed && items.length > prefix.length) run.fail(() => tooMany);
      const end = rest && !isClosed ? items.length : Math.min(items.length, prefix.length);
      for (let index = 0; index < end; index += 1) {
        seen?.add(index);
        (prefix[index] ?? rest)?.evaluateAt(index, items[index], run);
      }
      contains?.(items, run, seen);
      // An item that is wrong already needs no second error.
      if (!unevaluated || run.errors !== before) return;
      for (let index = 0; index < items.length; index += 1) {
        if (seen?.has(index)) continue;
        seen?.add(index);
        unevaluated.evaluateAt(index, items[index], run);
      }
    };
    return [test];
  }

  #contains(): ((items: JsonValue[], run: Run, seen: Seen | undefined) => void) | undefined {
    const evaluator = this.#one("contains");
    if (!evaluator) return undefined;
    const { minContains = 1, maxContains } = this.#of(this.#node).schema;
    const [least, most] = [Number(minContains), Number(maxContains ?? Number.POSITIVE_INFINITY)];
    const bounds = `at least ${least}${maxContains === undefined ? "" : ` and at most ${most}`}`;
    const suggestion = "Compare the items with the schema under contains.";
    return (items, run, seen) => {
      const before = run.errors;
      let fitting = 0;
      run.tentative += 1;
      for (const [index, item] of items.entries()) {
        // Only what was evaluated, or is too much, asks for all the others.
        if (!seen && most === Number.POSITIVE_INFINITY && fitting >= least) break;
        if (!evaluator.evaluateAt(index, item, run)) continue;
        seen?.add(index);
        fitting += 1;
      }
      run.tentative -= 1;
      if (fitting >= least && fitting <= most) run.dropErrors(before);
      else run.fail(() => ({ reason: `must contain ${bounds} fitting items`, suggestion }));
    };
  }

  #properties(): Check["test"][] {
    const named = new Map(this.#named("properties"));
    const patterns = this.#named("patternProperties").map(([source, evaluator]) => {
      return { pattern: this.#patterns.compiled(source), evaluator };
    });
    const names = this.#one("propertyNames");
    const others = this.#remaining("additionalProperties");
    const unevaluated = this.#remaining("unevaluatedProperties");
    if (named.size + patterns.length === 0 && !names && !others && !unevaluated) return [];
    const test = (data: JsonObject, run: Run, seen: Seen | undefined) => {
      const before = run.errors;
      const keys = Object.keys(data);
      run.spend(keys.length);
      for (const key of keys) {
        if (names) checkName(names, key, run);
        const evaluator = named.get(key);
        let isKnown = evaluator !== undefined;
        evaluator?.evaluateAt(key, data[key], run);
        for (const each of patterns) {
          run.spend(1);
          if (!each.pattern.test(key, run)) continue;
          isKnown = true;
          each.evaluator.evaluateAt(key, data[key], run);
        }
        if (!isKnown) others?.(key, data, run);
        if (isKnown || others) seen?.add(key);
      }
      if (!unevaluated || run.errors !== before) return;
      for (const key of keys) {
        if (seen?.has(key)) continue;
        seen?.add(key);
        unevaluated(key, data, run);
      }
    };
    return [test];
  }

  /** What holds for the properties that a keyword is left with. */
  #remaining(keyword: string): ((key: string, data: JsonObject, run: Run) => void) | undefined {
    const evaluator = this.#one(keyword);
    if (evaluator?.node.schema !== false) {
      return evaluator && ((key, data, run) => void evaluator.evaluateAt(key, data[key], run));
    }
    const known = Object.keys(this.#of(this.#node).schema.properties ?? {});
    return (key, _data, run) => run.fail(() => unknownProperty(key, known), key);
  }
}

function sameValue(evaluator: Evaluator): Check["test"] {
  return (data, run, seen) => void evaluator.evaluate(data, run, seen);
}

function checkName(evaluator: Evaluator, name: string, run: Run): void {
  const before = run.errors;
  run.tentative += 1;
  run.about(name);
  evaluator.evaluate(name, run);
  run.about(undefined);
  run.tentative -= 1;
  if (run.errors !== before) run.fail(() => NAME_REFUSED, name);
}
