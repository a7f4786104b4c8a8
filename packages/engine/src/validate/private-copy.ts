import type { JsonObject, JsonValue } from "@sallyport/protocol";
import { ANNOTATIONS, KEYWORDS, TENTATIVE } from "./keywords.ts";
import type { SchemaNode, SchemaTree } from "./schema-tree.ts";
import { STEP, stepFor } from "./step-keyword.ts";

/**
 * The schema as it is compiled: only keywords that decide something, every reference pointing at a definition
 * with a plain name, no identifiers that could clash, and a step counter in every subschema.
 */
export function privateCopy(tree: SchemaTree): JsonObject {
  const copier = new Copier(tree);
  const root = copier.copy(tree.root);
  return { ...root, $defs: copier.definitions() };
}

class Copier {
  readonly #tentative: ReadonlySet<SchemaNode>;
  readonly #unevaluated: boolean;
  readonly #names = new Map<SchemaNode, string>();
  readonly #pending: SchemaNode[] = [];

  constructor(tree: SchemaTree) {
    this.#tentative = tentativeNodes(tree.root);
    this.#unevaluated = usesUnevaluated(tree);
  }

  copy(node: SchemaNode): JsonObject {
    if (node.schema === true) return {};
    if (node.schema === false) return { not: {} };
    const out: JsonObject = {};
    for (const [keyword, value] of Object.entries(node.schema)) {
      if (keyword === "dependencies") out[keyword] = nameLists(value);
      else if (decidesByItself(keyword)) out[keyword] = value;
    }
    this.#addReferences(node, out);
    for (const child of node.children) this.#addChild(out, child);
    if (this.#unevaluated) setPatternsApart(out);
    if (Object.keys(out).length === 0) return out;
    return { ...out, [STEP]: stepFor(node, this.#tentative.has(node)) };
  }

  /** Copying a definition may reach further ones, until all that are reachable are there. */
  definitions(): JsonObject {
    const definitions: JsonObject = {};
    for (let node = this.#pending.pop(); node; node = this.#pending.pop()) {
      const name = this.#names.get(node);
      if (name !== undefined) definitions[name] = this.copy(node);
    }
    return definitions;
  }

  #addChild(out: JsonObject, { keyword, key, node }: SchemaNode["children"][number]): void {
    if (ANNOTATIONS.has(keyword)) return;
    const copied = typeof node.schema === "boolean" ? node.schema : this.copy(node);
    const holder = out[keyword];
    if (key === undefined) out[keyword] = copied;
    else if (KEYWORDS.get(keyword) === "schemas") out[keyword] = append(holder, copied);
    else out[keyword] = withMember(holder, key, copied);
  }

  #addReferences(node: SchemaNode, out: JsonObject): void {
    const references = [...node.targets.values()].map((target) => this.#reference(target));
    const [first, second] = references;
    if (first !== undefined) out.$ref = first;
    // $ref beside $dynamicRef: there are no other documents, so both are plain references.
    if (second !== undefined) out.allOf = [{ $ref: second }];
  }

  #reference(target: SchemaNode): string {
    const known = this.#names.get(target);
    if (known !== undefined) return `#/$defs/${known}`;
    const name = `d${this.#names.size}`;
    this.#names.set(target, name);
    this.#pending.push(target);
    return `#/$defs/${name}`;
  }
}

const COPIED_BY_STRUCTURE: ReadonlySet<string | undefined> = new Set([
  undefined,
  "reference",
  "schema",
  "schemas",
  "schemaMap",
]);

function decidesByItself(keyword: string): boolean {
  return !COPIED_BY_STRUCTURE.has(KEYWORDS.get(keyword)) && !ANNOTATIONS.has(keyword);
}

/** Of `dependencies` the members that are lists of names; the others are subschemas and follow as children. */
function nameLists(value: JsonValue): JsonObject {
  return Object.fromEntries(Object.entries(value ?? {}).filter(([, member]) => Array.isArray(member)));
}

function append(holder: JsonValue | undefined, item: JsonValue): JsonValue[] {
  if (!Array.isArray(holder)) return [item];
  holder.push(item);
  return holder;
}

function withMember(holder: JsonValue | undefined, key: string, member: JsonValue): JsonObject {
  const members: JsonObject =
    typeof holder === "object" && holder !== null && !Array.isArray(holder) ? holder : {};
  members[key] = member;
  return members;
}

/** Only then need evaluated properties and items be remembered while validating, which costs time. */
export function usesUnevaluated({ nodes }: SchemaTree): boolean {
  return [...nodes.values()].some(
    ({ schema }) =>
      typeof schema === "object" && ("unevaluatedProperties" in schema || "unevaluatedItems" in schema),
  );
}

const ABOUT_NAMES = ["properties", "patternProperties", "additionalProperties"];

/**
 * Moves patternProperties and its siblings into an allOf of their own, which means the same. Ajv's code for it
 * breaks beside alternatives that leave open which properties they evaluated.
 */
function setPatternsApart(out: JsonObject): void {
  if (out.patternProperties === undefined) return;
  const apart: JsonObject = {};
  for (const keyword of ABOUT_NAMES) {
    const value = out[keyword];
    if (value === undefined) continue;
    apart[keyword] = value;
    delete out[keyword];
  }
  out.allOf = append(out.allOf, apart);
}

/** Nodes that are, on some way to them, below a keyword whose subschemas may fail harmlessly. */
function tentativeNodes(root: SchemaNode): Set<SchemaNode> {
  const certain = new Set<SchemaNode>();
  const tentative = new Set<SchemaNode>();
  const queue: { node: SchemaNode; maybe: boolean }[] = [{ node: root, maybe: false }];
  for (let next = queue.pop(); next; next = queue.pop()) {
    const { node, maybe } = next;
    const seen = maybe ? tentative : certain;
    if (seen.has(node)) continue;
    seen.add(node);
    for (const target of node.targets.values()) queue.push({ node: target, maybe });
    for (const child of node.children) {
      queue.push({ node: child.node, maybe: maybe || TENTATIVE.has(child.keyword) });
    }
  }
  return tentative;
}
