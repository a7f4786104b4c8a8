import { isJsonObject, type JsonObject, type JsonValue } from "@sallyport/protocol";
import {
  _,
  Ajv2020,
  type Code,
  type CodeKeywordDefinition,
  type KeywordCxt,
  Name,
  type ValidateFunction,
} from "ajv/dist/2020.js";
import { ValueScope } from "ajv/dist/compile/codegen/index.js";
import { ANNOTATIONS, KEYWORDS, TENTATIVE } from "./keywords.ts";
import type { PatternEngine } from "./patterns.ts";
import type { SchemaChild, SchemaNode } from "./schema-walk.ts";
import { formatChecks, valueKeywords } from "./value-checks.ts";
import { ENOUGH_ERRORS, EnoughErrors, OutOfWork, type WorkBudget } from "./work-budget.ts";

/** The kinds of values that generated code refers to. */
const SCOPE_NAMES = "validate wrapper root schema keyword pattern formats func obj Error";

/**
 * The one Ajv instance. A fresh value scope for each schema keeps its memory flat: the instance's own scope would
 * hold on to every schema, pattern and function ever compiled.
 */
export class AjvEngine extends Ajv2020 {
  declare scope: ValueScope;

  constructor(work: WorkBudget, patterns: PatternEngine) {
    super({
      strict: false,
      strictNumbers: true,
      allErrors: true,
      verbose: true,
      messages: false,
      ownProperties: true,
      inlineRefs: false,
      meta: false,
      validateSchema: false,
      unevaluated: false,
      addUsedSchema: false,
      logger: false,
      formats: formatChecks(),
      code: { regExp: regExpOf(patterns), optimize: false },
    });
    for (const definition of valueKeywords(work)) {
      this.removeKeyword(String(definition.keyword));
      this.addKeyword(definition);
    }
    this.addKeyword(stepKeyword(work));
  }

  /** Compiles a whole schema. Throws what Ajv throws, which the walk before it should make impossible. */
  compileTree(root: SchemaNode): ValidateFunction {
    const copier = new Copier(root);
    const copy = copier.copy(root);
    return this.compileOnce({ ...copy, $defs: copier.definitions() });
  }

  /** Compiles a copy and forgets it. */
  compileOnce(copy: JsonObject): ValidateFunction {
    this.scope = new ValueScope({ scope: {}, prefixes: new Set(SCOPE_NAMES.split(" ")) });
    try {
      return this.compile(copy);
    } finally {
      this.removeSchema(copy);
    }
  }
}

function regExpOf(patterns: PatternEngine) {
  const regExp = (source: string) => {
    const compiled = patterns.get(source);
    if (!compiled.ok) throw new Error(`Pattern ${compiled.reason}`);
    return compiled.pattern;
  };
  return Object.assign(regExp, { code: "safePattern" });
}

/** One node as it is compiled when its subschemas and references are interpreted. */
export function leafCopy(node: SchemaNode): JsonObject {
  return { ...node.own, [STEP]: stepFor(node, true) };
}

/**
 * Writes the schema as it is compiled: only keywords that decide something, every reference pointing at a definition
 * with a plain name, no identifiers that could clash, and a step counter in every subschema.
 */
class Copier {
  readonly #tentative: ReadonlySet<SchemaNode>;
  readonly #names = new Map<SchemaNode, string>();
  readonly #pending: SchemaNode[] = [];

  constructor(root: SchemaNode) {
    this.#tentative = tentativeNodes(root);
  }

  copy(node: SchemaNode): JsonObject {
    if (node.schema === true) return {};
    if (node.schema === false) return { not: {} };
    const out = { ...node.own };
    for (const [keyword, children] of node.children) {
      if (!ANNOTATIONS.has(keyword)) out[keyword] = this.#subschemas(keyword, children, out[keyword]);
    }
    const [first, second] = [...node.targets.values()].map((target) => this.#reference(target));
    if (first !== undefined) out.$ref = first;
    // $ref beside $dynamicRef: where that makes a difference the schema is interpreted, so both are plain references.
    if (second !== undefined) out.allOf = [{ $ref: second }, ...(Array.isArray(out.allOf) ? out.allOf : [])];
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

  /** The value of a keyword; `own` are the name lists beside the subschemas of `dependencies`. */
  #subschemas(keyword: string, children: readonly SchemaChild[], own: JsonValue | undefined): JsonValue {
    const copies = children.map(({ key = "", node }): [string, JsonValue] => {
      return [key, typeof node.schema === "boolean" ? node.schema : this.copy(node)];
    });
    const shape = KEYWORDS.get(keyword);
    if (shape === "schema") return copies[0]?.[1] ?? true;
    if (shape === "schemas") return copies.map(([, copy]) => copy);
    return { ...(isJsonObject(own) && own), ...Object.fromEntries(copies) };
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
    for (const [keyword, children] of node.children) {
      for (const child of children) queue.push({ node: child.node, maybe: maybe || TENTATIVE.has(keyword) });
    }
  }
  return tentative;
}

/** The keyword that every subschema of a copy carries. No author can write it: the walk drops unknown keywords. */
const STEP = "sallyport:step";

/** What evaluating one subschema costs beside its own subschemas, which carry steps of their own. */
interface Step extends JsonObject {
  /** What is known from the schema alone. */
  cost: number;
  /** The length of a text counts: some keyword reads all of it. */
  text: boolean;
  /** The number of properties counts: some keyword loops over them without a subschema. */
  keys: boolean;
  /** It refers to another schema, and each reference copies the list of errors found so far. */
  refers: boolean;
  /** Errors collected here are certain, so enough of them may end the validation. */
  certain: boolean;
}

const TEXT_KEYWORDS = ["minLength", "maxLength", "format"];
const KEY_KEYWORDS = [
  "additionalProperties",
  "unevaluatedProperties",
  "patternProperties",
  "propertyNames",
  "minProperties",
  "maxProperties",
];

function stepFor(node: SchemaNode, tentative: boolean): Step {
  const { own, targets } = node;
  const children = [...node.children.values()].flat();
  // `true` and `false` carry no step, so the schema that holds them pays for them.
  const booleans = children.filter((child) => typeof child.node.schema === "boolean").length;
  const lists = [own.required, own.dependentRequired, own.dependencies];
  const names = lists.flatMap((list) => Object.values(list ?? {}).flat()).length;
  const has = (keyword: string) => Object.hasOwn(own, keyword) || node.children.has(keyword);
  return {
    cost: 1 + 2 * booleans + ((children.length + names) >> 3),
    text: TEXT_KEYWORDS.some(has),
    keys: KEY_KEYWORDS.some(has),
    refers: targets.size > 0,
    certain: !tentative,
  };
}

const ERRORS = new Name("errors");
const FOUND = new Name("vErrors");

/** Defines the keyword: a subtraction and a comparison inlined into the generated code. */
function stepKeyword(work: WorkBudget): CodeKeywordDefinition {
  return {
    keyword: STEP,
    schemaType: "object",
    before: "$ref",
    code(cxt: KeywordCxt) {
      const step: Step = cxt.schema;
      const left = _`${cxt.gen.scopeValue("obj", { ref: work })}.left`;
      const stop = cxt.gen.scopeValue("func", { ref: stopForWork });
      cxt.gen.code(_`if ((${left} -= ${costCode(cxt, step)}) < 0) ${stop}();`);
      if (step.certain) {
        const enough = cxt.gen.scopeValue("func", { ref: stopForErrors });
        cxt.gen.code(_`if (${ERRORS} > ${ENOUGH_ERRORS}) ${enough}(${FOUND});`);
      }
    },
  };
}

function costCode(cxt: KeywordCxt, step: Step): Code {
  const { data } = cxt;
  let cost = _`${step.cost}`;
  if (step.refers) cost = _`${cost} + (${ERRORS} >> 8)`;
  if (step.text) cost = _`${cost} + (typeof ${data} == "string" ? ${data}.length >> 5 : 0)`;
  if (step.keys) cost = _`${cost} + ${cxt.gen.scopeValue("func", { ref: keySteps })}(${data})`;
  return cost;
}

function keySteps(data: unknown): number {
  return isJsonObject(data) ? Object.keys(data).length : 0;
}

function stopForWork(): never {
  throw new OutOfWork("out of work");
}

function stopForErrors(errors: readonly unknown[]): never {
  throw new EnoughErrors(errors);
}
