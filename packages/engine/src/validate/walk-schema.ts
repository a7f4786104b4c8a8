import { type Issue, isJsonObject, type JsonObject, type JsonValue, nearestName } from "@sallyport/protocol";
import { FORMAT_NAMES } from "./formats.ts";
import { KEYWORDS, OUTDATED, type Shape, shapeError } from "./keywords.ts";
import { fragmentPointer, pointTo } from "./pointer.ts";
import type { PatternEngine } from "./safe-pattern.ts";
import { isSchema, type SchemaNode, type SchemaTree } from "./schema-tree.ts";

export const DIALECT = "https://json-schema.org/draft/2020-12/schema";

export interface SchemaLimits {
  maxSchemaDepth: number;
  maxSubschemas: number;
  maxPatterns: number;
  /** Instructions of all patterns together: what compiling them costs. */
  maxPatternSize: number;
}

export type WalkResult = { ok: true; tree: SchemaTree } | { ok: false; issues: Issue[] };

const MAX_ISSUES = 100;

/** One keyword of a schema, with a value of the right shape. */
interface Found {
  keyword: string;
  value: JsonValue;
  shape: Shape;
  at: string;
}

/** Reads a schema document once and names everything that makes it unusable. */
export function walkSchema(schema: JsonObject, limits: SchemaLimits, patterns: PatternEngine): WalkResult {
  const walk = new SchemaWalk(limits, patterns);
  const root = walk.run(schema);
  if (walk.issues.length > 0) return { ok: false, issues: walk.issues };
  return { ok: true, tree: { root, nodes: walk.nodes } };
}

class SchemaWalk {
  readonly issues: Issue[] = [];
  readonly nodes = new Map<string, SchemaNode>();
  readonly #limits: SchemaLimits;
  readonly #engine: PatternEngine;
  readonly #anchors = new Map<string, SchemaNode>();
  readonly #references: { node: SchemaNode; keyword: string; reference: string }[] = [];
  readonly #patterns = new Set<string>();
  #patternSize = 0;

  constructor(limits: SchemaLimits, engine: PatternEngine) {
    this.#limits = limits;
    this.#engine = engine;
  }

  run(schema: JsonObject): SchemaNode {
    const root = this.#visit(schema, "", 1);
    for (const { node, keyword, reference } of this.#references) this.#resolve(node, keyword, reference);
    return root;
  }

  #visit(schema: JsonObject | boolean, pointer: string, depth: number): SchemaNode {
    const node: SchemaNode = { pointer, schema, depth, children: [], targets: new Map() };
    this.nodes.set(pointer, node);
    if (this.nodes.size > this.#limits.maxSubschemas) {
      this.#once(pointer, `is one schema more than the ${this.#limits.maxSubschemas} that are allowed`);
    } else if (depth > this.#limits.maxSchemaDepth) {
      this.#report(pointer, `is nested deeper than ${this.#limits.maxSchemaDepth} schemas`);
    } else if (typeof schema === "object") {
      for (const [keyword, value] of Object.entries(schema)) this.#keyword(node, keyword, value);
    }
    return node;
  }

  #keyword(node: SchemaNode, keyword: string, value: JsonValue): void {
    const at = pointTo(node.pointer, keyword);
    const outdated = OUTDATED.get(keyword);
    const shape = KEYWORDS.get(keyword);
    if (outdated !== undefined) this.#report(at, "belongs to an older draft", outdated);
    if (shape === undefined) return;
    const expected = shapeError(shape, value);
    if (expected === undefined) this.#content(node, { keyword, value, shape, at });
    else this.#report(at, `must be ${expected}`, suggestionFor(keyword));
  }

  #content(node: SchemaNode, found: Found): void {
    const { keyword, value, shape } = found;
    if (shape === "schema") this.#child(node, found, { key: undefined, schema: value });
    else if (shape === "schemas" && Array.isArray(value)) {
      for (const [index, schema] of value.entries()) this.#child(node, found, { key: String(index), schema });
    } else if ((shape === "schemaMap" || shape === "dependencies") && isJsonObject(value)) {
      for (const [key, member] of Object.entries(value)) this.#member(node, found, [key, member]);
    } else if (typeof value === "string") this.#text(node, { ...found, value });
    if (keyword === "patternProperties") {
      for (const pattern of Object.keys(value ?? {})) this.#pattern(pointTo(found.at, pattern), pattern);
    }
  }

  #member(node: SchemaNode, found: Found, [key, member]: [string, JsonValue]): void {
    if (found.shape !== "dependencies" || !Array.isArray(member)) {
      this.#child(node, found, { key, schema: member });
    } else if (shapeError("names", member) !== undefined) {
      this.#report(pointTo(found.at, key), "must be a schema or a list of different names");
    }
  }

  #child(
    node: SchemaNode,
    found: Found,
    { key, schema }: { key: string | undefined; schema: JsonValue },
  ): void {
    const pointer = key === undefined ? found.at : pointTo(found.at, key);
    if (!isSchema(schema)) this.#report(pointer, "must be a schema (an object, true or false)");
    else if (this.nodes.size <= this.#limits.maxSubschemas) {
      node.children.push({ keyword: found.keyword, key, node: this.#visit(schema, pointer, node.depth + 1) });
    }
  }

  #text(node: SchemaNode, found: Found & { value: string }): void {
    const { keyword, value, shape, at } = found;
    if (shape === "dialect") this.#dialect(at, value);
    else if (shape === "reference") this.#references.push({ node, keyword, reference: value });
    else if (shape === "anchor") this.#anchor(node, at, value);
    else if (shape === "pattern") this.#pattern(at, value);
    else if (shape === "format") this.#format(at, value);
    else if (keyword === "$id" && node.pointer !== "") {
      this.#report(
        at,
        "starts a schema of its own inside this one",
        "Leave $id out and refer to it by #/$defs/…",
      );
    }
  }

  #dialect(at: string, value: string): void {
    if (value.replace(/#$/, "") !== DIALECT) {
      this.#report(
        at,
        `is not the dialect in use, ${DIALECT}`,
        "Translate the schema to JSON Schema 2020-12.",
      );
    }
  }

  #anchor(node: SchemaNode, at: string, name: string): void {
    if (this.#anchors.has(name)) this.#report(at, `is an anchor that another schema here has too`);
    this.#anchors.set(name, node);
  }

  #pattern(at: string, source: string): void {
    if (this.#patterns.has(source)) return;
    this.#patterns.add(source);
    if (this.#patterns.size > this.#limits.maxPatterns || this.#patternSize > this.#limits.maxPatternSize) {
      this.#once(at, "is one pattern more than this schema may have", "Use fewer or simpler patterns.");
      return;
    }
    const compiled = this.#engine.get(source);
    if (compiled.ok) this.#patternSize += compiled.pattern.size;
    else this.#report(at, compiled.reason, compiled.suggestion);
  }

  #format(at: string, name: string): void {
    if (FORMAT_NAMES.includes(name)) return;
    const close = nearestName(name, FORMAT_NAMES);
    const known = `Known formats: ${FORMAT_NAMES.join(", ")}; a pattern can say the rest.`;
    this.#report(
      at,
      `"${name}" is not a known format`,
      close === undefined ? known : `Did you mean "${close}"? ${known}`,
    );
  }

  #resolve(node: SchemaNode, keyword: string, reference: string): void {
    const at = pointTo(node.pointer, keyword);
    const pointer = reference.startsWith("#") ? fragmentPointer(reference) : undefined;
    const target =
      pointer === undefined ? undefined : (this.nodes.get(pointer) ?? this.#anchors.get(pointer));
    if (target) node.targets.set(keyword, target);
    else if (!reference.startsWith("#")) {
      this.#report(at, "refers to another document", "Copy that schema into $defs and use #/$defs/…");
    } else
      this.#report(at, `refers to "${reference}", where no schema stands`, "Put the schema under $defs.");
  }

  #once(path: string, reason: string, suggestion?: string): void {
    if (!this.issues.some((issue) => issue.reason === reason)) this.#report(path, reason, suggestion);
  }

  #report(path: string, reason: string, suggestion?: string): void {
    if (this.issues.length >= MAX_ISSUES) return;
    this.issues.push({ path, reason, ...(suggestion !== undefined && { suggestion }) });
  }
}

function suggestionFor(keyword: string): string | undefined {
  if (keyword === "items") return "A list of schemas, one for each position, is prefixItems.";
  if (keyword.startsWith("exclusive")) return "It takes the bound itself; leave minimum or maximum out.";
  return undefined;
}
