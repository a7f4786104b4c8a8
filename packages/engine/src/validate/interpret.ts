import { canonicalJson, isJsonObject, type JsonObject, type JsonValue } from "@sallyport/protocol";
import type { ErrorObject, ValidateFunction } from "ajv/dist/2020.js";
import { pointTo } from "../match/document.ts";
import { type AjvEngine, leafCopy } from "./ajv-engine.ts";
import type { PatternEngine } from "./patterns.ts";
import type { SchemaChild, SchemaNode, SchemaResource, SchemaTree } from "./schema-walk.ts";
import { ENOUGH_ERRORS, EnoughErrors, type WorkBudget } from "./work-budget.ts";

/** Everything that is wrong with a value; empty when nothing is. Throws what ends a validation early. */
export type FindErrors = (value: JsonValue) => readonly ErrorObject[];

/**
 * True for the schemas that Ajv judges wrongly: with unevaluated keywords, with `$dynamicRef` between several
 * resources, with subschemas under the name `__proto__`. All others are compiled.
 */
export function mustInterpret({ nodes }: SchemaTree): boolean {
  const dynamic = new Map<string, Set<SchemaResource>>();
  for (const { resource } of nodes.values()) {
    for (const name of resource.dynamicAnchors.keys()) {
      dynamic.set(name, (dynamic.get(name) ?? new Set()).add(resource));
    }
  }
  return [...nodes.values()].some(
    ({ children, dynamicName = "" }) =>
      (dynamic.get(dynamicName)?.size ?? 0) > 1 ||
      [...children.keys()].some((keyword) => keyword.startsWith("unevaluated")) ||
      [...children.values()].flat().some(({ key }) => key === "__proto__"),
  );
}

interface Tools {
  ajv: AjvEngine;
  patterns: PatternEngine;
  work: WorkBudget;
}

/** The keywords of each node that need no subschema, compiled; a boolean schema has none. */
type Leaves = ReadonlyMap<SchemaNode, ValidateFunction>;

/**
 * Walks the schema for each value and remembers which properties and items were evaluated. Only the applicators
 * are interpreted: keywords without subschemas are compiled node by node, with the same bounds as everywhere.
 */
export function interpret({ root, nodes }: SchemaTree, tools: Tools): FindErrors {
  const leaves = new Map<SchemaNode, ValidateFunction>();
  const byText = new Map<string, ValidateFunction>();
  for (const node of nodes.values()) {
    if (typeof node.schema === "boolean") continue;
    const copy = leafCopy(node);
    const text = canonicalJson(copy);
    const leaf = byText.get(text) ?? tools.ajv.compileOnce(copy);
    byText.set(text, leaf);
    leaves.set(node, leaf);
  }
  return (value) => {
    const run = new Run(leaves, tools);
    run.evaluate(root, { data: value, path: "", scope: [] });
    return run.errors;
  };
}

/** The value a schema is evaluated for: where it stands, and the resources entered on the way, outermost first. */
interface Here {
  data: JsonValue;
  path: string;
  scope: readonly SchemaResource[];
}

/** The property names or item positions that a valid schema evaluated. */
type Seen = Set<string>;

class Run {
  readonly errors: ErrorObject[] = [];
  readonly #leaves: Leaves;
  readonly #tools: Tools;
  /** How many keywords around the current schema let it fail: a dynamic reference shows only now where it leads. */
  #tentative = 0;

  constructor(leaves: Leaves, tools: Tools) {
    this.#leaves = leaves;
    this.#tools = tools;
  }

  /** Undefined when the value is not valid; then `errors` has grown. */
  evaluate(node: SchemaNode, outer: Here): Seen | undefined {
    this.spend(1 + (outer.scope.length >> 3));
    this.stopWhenEnough();
    if (node.schema === true) return new Set();
    const scope = outer.scope.includes(node.resource) ? outer.scope : [...outer.scope, node.resource];
    const visit = new Visit(this, node, { ...outer, scope });
    const before = this.errors.length;
    if (node.schema === false) visit.fail("false schema", {});
    else {
      this.#leaf(node, outer);
      visit.inPlace();
      if (Array.isArray(outer.data)) visit.items(outer.data);
      else if (isJsonObject(outer.data)) visit.properties(outer.data);
    }
    return this.errors.length === before ? visit.seen : undefined;
  }

  /** Whether it is valid; errors are dropped, because here an invalid value is not wrong. */
  attempt(node: SchemaNode, here: Here): Seen | undefined {
    const before = this.errors.length;
    const seen = this.tentatively(() => this.evaluate(node, here));
    this.errors.length = before;
    return seen;
  }

  /** Errors found meanwhile may be dropped, so any number of them ends nothing. */
  tentatively<Result>(work: () => Result): Result {
    this.#tentative += 1;
    const result = work();
    this.#tentative -= 1;
    return result;
  }

  stopWhenEnough(): void {
    if (this.#tentative === 0 && this.errors.length > ENOUGH_ERRORS) throw new EnoughErrors(this.errors);
  }

  matches(pattern: string, text: string): boolean {
    this.spend(1);
    const compiled = this.#tools.patterns.get(pattern);
    return compiled.ok && compiled.pattern.test(text);
  }

  spend(steps: number): void {
    this.#tools.work.spend(steps);
  }

  #leaf(node: SchemaNode, { data, path }: Here): void {
    const leaf = this.#leaves.get(node);
    const place = { instancePath: path, parentData: {}, parentDataProperty: "", rootData: {} };
    if (leaf === undefined || leaf(data, { ...place, dynamicAnchors: {} })) return;
    this.errors.push(...(leaf.errors ?? []));
    leaf.errors = null;
  }
}

/** One schema meeting one value. */
class Visit {
  readonly seen: Seen = new Set();
  readonly #run: Run;
  readonly #node: SchemaNode;
  readonly #here: Here;

  constructor(run: Run, node: SchemaNode, here: Here) {
    this.#run = run;
    this.#node = node;
    this.#here = here;
  }

  fail(keyword: string, params: Record<string, unknown>): void {
    const { data, path } = this.#here;
    const { schema } = this.#node;
    const parentSchema = typeof schema === "object" ? schema : {};
    const own = { schema: parentSchema[keyword], parentSchema, data };
    this.#run.errors.push({ keyword, instancePath: path, schemaPath: "", params, ...own });
    this.#run.stopWhenEnough();
  }

  /** The applicators that look at the same value: what they evaluate counts as evaluated here. */
  inPlace(): void {
    const { data } = this.#here;
    for (const [keyword, target] of this.#node.targets)
      this.#merge(this.#same(this.#dynamic(keyword, target)));
    for (const { node } of this.#children("allOf")) this.#merge(this.#same(node));
    this.#alternatives("anyOf");
    this.#alternatives("oneOf");
    for (const { node } of this.#children("not")) {
      if (this.#run.attempt(node, this.#here)) this.fail("not", {});
    }
    this.#conditional();
    for (const { key = "", node } of [
      ...this.#children("dependentSchemas"),
      ...this.#children("dependencies"),
    ]) {
      if (isJsonObject(data) && Object.hasOwn(data, key)) this.#merge(this.#same(node));
    }
  }

  items(data: JsonValue[]): void {
    const before = this.#run.errors.length;
    const prefix = this.#children("prefixItems");
    for (const [index, { node }] of prefix.entries()) if (index < data.length) this.#item(node, data, index);
    const [rest] = this.#children("items");
    for (let index = prefix.length; rest && index < data.length; index += 1)
      this.#item(rest.node, data, index);
    this.#contains(data);
    // An item that is wrong already needs no second error.
    const [unevaluated] = this.#run.errors.length > before ? [] : this.#children("unevaluatedItems");
    for (let index = 0; unevaluated && index < data.length; index += 1) {
      if (!this.seen.has(String(index))) this.#item(unevaluated.node, data, index);
    }
  }

  properties(data: JsonObject): void {
    const before = this.#run.errors.length;
    const named = new Set<string>();
    const evaluate = (node: SchemaNode, key: string) => {
      named.add(key);
      this.#property(node, data, key);
    };
    for (const { key = "", node } of this.#children("properties")) {
      if (Object.hasOwn(data, key)) evaluate(node, key);
    }
    for (const { key: pattern = "", node } of this.#children("patternProperties")) {
      for (const key of Object.keys(data)) if (this.#run.matches(pattern, key)) evaluate(node, key);
    }
    for (const { node } of this.#children("propertyNames")) {
      for (const name of Object.keys(data)) this.#name(node, name);
    }
    this.#remaining("additionalProperties", data, named);
    if (this.#run.errors.length === before) this.#remaining("unevaluatedProperties", data, this.seen);
  }

  #children(keyword: string): readonly SchemaChild[] {
    return this.#node.children.get(keyword) ?? [];
  }

  #remaining(keyword: string, data: JsonObject, except: Seen): void {
    const [child] = this.#children(keyword);
    if (child === undefined) return;
    for (const name of Object.keys(data).filter((key) => !except.has(key))) {
      if (child.node.schema !== false) this.#property(child.node, data, name);
      else this.fail(keyword, { [keyword.replace("Properties", "Property")]: name });
    }
  }

  #alternatives(keyword: "anyOf" | "oneOf"): void {
    const branches = this.#children(keyword);
    if (branches.length === 0) return;
    const { errors } = this.#run;
    const before = errors.length;
    const tried = this.#run.tentatively(() => branches.map(({ node }) => this.#same(node)));
    const passed = tried.filter((seen) => seen !== undefined);
    if (passed.length > 0) errors.length = before;
    if (passed.length === 0) this.fail(keyword, {});
    else if (keyword === "oneOf" && passed.length > 1) this.fail(keyword, { passingSchemas: [] });
    for (const seen of passed) this.#merge(seen);
  }

  #conditional(): void {
    const [condition] = this.#children("if");
    if (condition === undefined) return;
    const seen = this.#run.attempt(condition.node, this.#here);
    this.#merge(seen);
    const [branch] = this.#children(seen ? "then" : "else");
    if (branch) this.#merge(this.#same(branch.node));
  }

  #contains(data: JsonValue[]): void {
    const [child] = this.#children("contains");
    if (child === undefined) return;
    const { minContains = 1, maxContains } = this.#node.own;
    const fits = (index: number) => this.#run.attempt(child.node, this.#at(data, index)) !== undefined;
    const fitting = [...data.keys()].filter(fits);
    for (const index of fitting) this.seen.add(String(index));
    const most = Number(maxContains ?? Number.POSITIVE_INFINITY);
    if (fitting.length < Number(minContains) || fitting.length > most) {
      this.fail("contains", { minContains, maxContains });
    }
  }

  #item(node: SchemaNode, data: JsonValue[], index: number): void {
    this.seen.add(String(index));
    this.#run.evaluate(node, this.#at(data, index));
  }

  #at(data: JsonValue[], index: number): Here {
    return { ...this.#here, data: data[index] ?? null, path: pointTo(this.#here.path, index) };
  }

  #property(node: SchemaNode, data: JsonObject, key: string): void {
    this.seen.add(key);
    this.#run.evaluate(node, { ...this.#here, data: data[key] ?? null, path: pointTo(this.#here.path, key) });
  }

  #name(node: SchemaNode, name: string): void {
    const { errors } = this.#run;
    const before = errors.length;
    if (this.#run.tentatively(() => this.#run.evaluate(node, { ...this.#here, data: name }))) return;
    for (const error of errors.slice(before)) error.propertyName = name;
    this.fail("propertyNames", { propertyName: name });
  }

  #same(node: SchemaNode): Seen | undefined {
    return this.#run.evaluate(node, this.#here);
  }

  /** The outermost resource on the way here that has the dynamic anchor gives the target. */
  #dynamic(keyword: string, target: SchemaNode): SchemaNode {
    const { dynamicName } = this.#node;
    if (keyword !== "$dynamicRef" || dynamicName === undefined) return target;
    const outer = this.#here.scope.find(({ dynamicAnchors }) => dynamicAnchors.has(dynamicName));
    return outer?.dynamicAnchors.get(dynamicName) ?? target;
  }

  #merge(seen: Seen | undefined): void {
    if (seen === undefined) return;
    this.#run.spend(seen.size >> 3);
    for (const key of seen) this.seen.add(key);
  }
}
