import {
  type Issue,
  type JsonObject,
  type JsonSchema,
  type JsonValue,
  nearestName,
} from "@sallyport/protocol";
import { pointTo } from "../match/document.ts";
import { FORMATS } from "./formats.ts";
import { isSchema, KEYWORDS, OUTDATED, type Shape, shapeError, subschemasOf } from "./keywords.ts";
import type { PatternEngine } from "./patterns.ts";

export const DIALECT = "https://json-schema.org/draft/2020-12/schema";

/** A schema with a URI of its own: the root, a subschema with `$id`, or a document given to the compiler. */
export interface SchemaResource {
  readonly uri: string;
  /** Where it stands: references by JSON Pointer start here. */
  readonly pointer: string;
  /** By name, the dynamic ones too. */
  readonly anchors: Map<string, SchemaNode>;
  readonly dynamicAnchors: Map<string, SchemaNode>;
}

/** A subschema, with its key where its keyword can hold several. */
interface SchemaChild {
  readonly key: string | undefined;
  readonly node: SchemaNode;
}

/** One place where a schema stands. */
export interface SchemaNode {
  /** Inside a given document it begins with the document's URI. */
  readonly pointer: string;
  readonly schema: JsonObject | boolean;
  readonly depth: number;
  readonly resource: SchemaResource;
  readonly children: Map<string, SchemaChild[]>;
  /** Nodes that this one's references lead to, by keyword. */
  readonly targets: Map<string, SchemaNode>;
  /** The anchor by which `$dynamicRef` looks for an outer target first; absent when it is a plain reference. */
  dynamicName?: string;
}

/** A schema document that was found usable: every reference leads to a node, every pattern runs. */
export interface SchemaTree {
  readonly root: SchemaNode;
  readonly nodes: ReadonlyMap<string, SchemaNode>;
}

interface SchemaLimits {
  maxSchemaDepth: number;
  maxSubschemas: number;
  /** Documents that references may name, by URI. Nothing else outside the schema is ever looked at. */
  documents: ReadonlyMap<string, JsonSchema>;
}

const MAX_PATTERNS = 200;
/** Instructions of all patterns together: what compiling them costs. */
const MAX_PATTERN_SIZE = 20_000;
const MAX_ISSUES = 100;
/** The URI of a schema without `$id`: relative references need one to start from. */
const NO_URI = "https://schema.invalid/";

/** Reads a schema document once and names everything that makes it unusable. */
export function walkSchema(
  schema: JsonObject | boolean,
  limits: SchemaLimits,
  patterns: PatternEngine,
): { ok: true; tree: SchemaTree } | { ok: false; issues: Issue[] } {
  const walk = new SchemaWalk(limits, patterns);
  const root = walk.run(schema);
  if (walk.issues.length > 0) return { ok: false, issues: walk.issues };
  return { ok: true, tree: { root, nodes: walk.nodes } };
}

/** One keyword and where it stands. */
interface Found {
  node: SchemaNode;
  keyword: string;
  at: string;
}

class SchemaWalk {
  readonly issues: Issue[] = [];
  readonly nodes = new Map<string, SchemaNode>();
  readonly #limits: SchemaLimits;
  readonly #engine: PatternEngine;
  readonly #resources = new Map<string, SchemaResource>();
  readonly #references: { found: Found; reference: string }[] = [];
  readonly #patterns = new Set<string>();
  #patternSize = 0;

  constructor(limits: SchemaLimits, engine: PatternEngine) {
    this.#limits = limits;
    this.#engine = engine;
  }

  run(schema: JsonObject | boolean): SchemaNode {
    const root = this.#visit(schema, "", { depth: 1, resource: this.#resource(NO_URI, "") });
    // A reference may lead to a document whose own references then follow in this list.
    for (const { found, reference } of this.#references) this.#resolve(found, reference);
    return root;
  }

  #visit(
    schema: JsonObject | boolean,
    pointer: string,
    { depth, resource: outer }: Pick<SchemaNode, "depth" | "resource">,
  ): SchemaNode {
    const resource = this.#ownResource(schema, pointer, outer);
    const node: SchemaNode = { pointer, schema, depth, resource, children: new Map(), targets: new Map() };
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
    const found = { node, keyword, at: pointTo(node.pointer, keyword) };
    const outdated = OUTDATED.get(keyword);
    if (outdated !== undefined) this.#report(found.at, "belongs to an older draft", outdated);
    const shape = KEYWORDS.get(keyword);
    if (shape === undefined) return;
    const expected = shapeError(shape, value);
    if (expected === undefined) this.#content(found, shape, value);
    else this.#report(found.at, `must be ${expected}`, suggestionFor(keyword));
  }

  #content(found: Found, shape: Shape, value: JsonValue): void {
    const { keyword, at } = found;
    const subschemas = subschemasOf(shape, value);
    for (const [key, schema] of subschemas) this.#child(found, key, schema);
    if (shape === "dependencies") this.#nameLists(at, value);
    else if (shape === "reference") this.#references.push({ found, reference: String(value) });
    else if (shape === "dialect") this.#dialect(at, String(value));
    else if (shape === "anchor") this.#anchor(found, String(value));
    else if (shape === "pattern") this.#pattern(at, String(value));
    else if (shape === "format") this.#format(at, String(value));
    else if (keyword === "patternProperties") {
      for (const [pattern = ""] of subschemas) this.#pattern(pointTo(at, pattern), pattern);
    }
  }

  #child({ node, keyword, at }: Found, key: string | undefined, schema: JsonValue): void {
    const pointer = key === undefined ? at : pointTo(at, key);
    if (!isSchema(schema)) this.#report(pointer, "must be a schema (an object, true or false)");
    else if (this.nodes.size <= this.#limits.maxSubschemas) {
      const inside = { depth: node.depth + 1, resource: node.resource };
      const siblings = node.children.get(keyword) ?? [];
      node.children.set(keyword, siblings);
      siblings.push({ key, node: this.#visit(schema, pointer, inside) });
    }
  }

  /** Of `dependencies` the members that are lists of names; the others are subschemas. */
  #nameLists(at: string, value: JsonValue): void {
    for (const [key, member] of Object.entries(value ?? {})) {
      if (Array.isArray(member) && shapeError("names", member) !== undefined)
        this.#report(pointTo(at, key), "must be a schema or a list of different names");
    }
  }

  #dialect(at: string, value: string): void {
    if (value.replace(/#$/, "") === DIALECT) return;
    const suggestion = "Translate the schema to JSON Schema 2020-12.";
    this.#report(at, `is not the dialect in use, ${DIALECT}`, suggestion);
  }

  #anchor({ node, keyword, at }: Found, name: string): void {
    const { anchors, dynamicAnchors } = node.resource;
    if (anchors.has(name)) this.#report(at, "is an anchor that another schema here has too");
    anchors.set(name, node);
    if (keyword === "$dynamicAnchor") dynamicAnchors.set(name, node);
  }

  #pattern(at: string, source: string): void {
    if (this.#patterns.has(source)) return;
    this.#patterns.add(source);
    if (this.#patterns.size > MAX_PATTERNS || this.#patternSize > MAX_PATTERN_SIZE) {
      this.#once(at, "is one pattern more than this schema may have", "Use fewer or simpler patterns.");
      return;
    }
    const compiled = this.#engine.get(source);
    if (compiled.ok) this.#patternSize += compiled.pattern.size;
    else this.#report(at, compiled.reason, compiled.suggestion);
  }

  #format(at: string, name: string): void {
    if (FORMATS.has(name)) return;
    const close = nearestName(name, FORMATS.keys());
    const known = `Known formats: ${[...FORMATS.keys()].join(", ")}; a pattern can say the rest.`;
    const suggestion = close === undefined ? known : `Did you mean "${close}"? ${known}`;
    this.#report(at, `"${name}" is not a known format`, suggestion);
  }

  /** The resource a schema opens by `$id`, or the one around it. */
  #ownResource(schema: JsonObject | boolean, pointer: string, outer: SchemaResource): SchemaResource {
    const id = typeof schema === "object" ? schema.$id : undefined;
    if (typeof id !== "string") return outer;
    const uri = absolute(id.replace(/#$/, ""), outer.uri);
    if (uri === undefined || uri.includes("#")) {
      this.#report(pointTo(pointer, "$id"), "must be a URI without a fragment");
    } else if (!this.#resources.has(uri)) return this.#resource(uri, pointer);
    else if (uri !== outer.uri || pointer !== outer.pointer) {
      this.#report(pointTo(pointer, "$id"), "is the URI of another schema here");
    }
    return outer;
  }

  #resource(uri: string, pointer: string): SchemaResource {
    const resource = { uri, pointer, anchors: new Map(), dynamicAnchors: new Map() };
    this.#resources.set(uri, resource);
    return resource;
  }

  #resolve({ node, keyword, at }: Found, reference: string): void {
    const [uri = "", fragment = ""] = reference.split(/#(.*)/s);
    const resource = uri === "" ? node.resource : this.#named(absolute(uri, node.resource.uri));
    if (resource === undefined) {
      this.#report(at, "refers to another document", "Copy that schema into $defs and use #/$defs/…");
      return;
    }
    const place = decoded(fragment);
    const isPointer = place === "" || place?.startsWith("/");
    const target = isPointer ? this.nodes.get(resource.pointer + place) : resource.anchors.get(place ?? "");
    if (target === undefined) {
      this.#report(at, `refers to "${reference}", where no schema stands`, "Put the schema under $defs.");
      return;
    }
    node.targets.set(keyword, target);
    if (keyword === "$dynamicRef" && place !== undefined && resource.dynamicAnchors.get(place) === target) {
      node.dynamicName = place;
    }
  }

  /** The resource with a URI: one of this schema, or a given document, which is read when it is first named. */
  #named(uri: string | undefined): SchemaResource | undefined {
    if (uri === undefined) return undefined;
    const known = this.#resources.get(uri);
    const document = this.#limits.documents.get(uri);
    if (known || document === undefined) return known;
    const { resource } = this.#visit(document, uri, { depth: 1, resource: this.#resource(uri, uri) });
    // The document may have another URI by its $id; it is known by both.
    this.#resources.set(uri, resource);
    return resource;
  }

  #once(path: string, reason: string, suggestion?: string): void {
    if (!this.issues.some((issue) => issue.reason === reason)) this.#report(path, reason, suggestion);
  }

  #report(path: string, reason: string, suggestion?: string): void {
    if (this.issues.length >= MAX_ISSUES) return;
    this.issues.push({ path, reason, ...(suggestion !== undefined && { suggestion }) });
  }
}

function absolute(reference: string, base: string): string | undefined {
  return URL.canParse(reference, base) ? new URL(reference, base).href : undefined;
}

/** The pointer or anchor in a fragment; undefined when its percent encoding is malformed. */
function decoded(fragment: string): string | undefined {
  try {
    return decodeURIComponent(fragment);
  } catch {
    return undefined;
  }
}

function suggestionFor(keyword: string): string | undefined {
  if (keyword === "items") return "A list of schemas, one for each position, is prefixItems.";
  if (keyword.startsWith("exclusive")) return "It takes the bound itself; leave minimum or maximum out.";
  return undefined;
}
