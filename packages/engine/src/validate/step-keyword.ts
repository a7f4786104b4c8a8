import type { JsonObject } from "@sallyport/protocol";
import { _, type Code, type CodeKeywordDefinition, type KeywordCxt, Name } from "ajv/dist/2020.js";
import type { SchemaNode } from "./schema-tree.ts";
import { EnoughErrors, OutOfWork, type Work } from "./work.ts";

/** The keyword that every subschema of a private copy carries. No author can write it: the walk drops unknown keywords. */
export const STEP = "sallyport:step";

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
/** Errors kept before a validation that has found enough of them ends. */
const ENOUGH = 1000;

export function stepFor(node: SchemaNode, tentative: boolean): Step {
  const { schema } = node;
  const has = (keyword: string) => typeof schema === "object" && Object.hasOwn(schema, keyword);
  return {
    cost: 1 + 2 * booleanChildren(node) + (names(node) >> 3),
    text: TEXT_KEYWORDS.some(has),
    keys: KEY_KEYWORDS.some(has),
    refers: node.targets.size > 0,
    certain: !tentative,
  };
}

/** `true` and `false` carry no step, so who holds them pays for them. */
function booleanChildren(node: SchemaNode): number {
  return node.children.filter((child) => typeof child.node.schema === "boolean").length;
}

function names({ schema, children }: SchemaNode): number {
  if (typeof schema === "boolean") return 0;
  const required = Array.isArray(schema.required) ? schema.required.length : 0;
  const dependent = Object.values(schema.dependentRequired ?? {}).flat().length;
  const dependencies = Object.values(schema.dependencies ?? {}).flat().length;
  return children.length + required + dependent + dependencies;
}

const ERRORS = new Name("errors");
const FOUND = new Name("vErrors");

/** Defines the keyword: a subtraction and a comparison inlined into the generated code. */
export function stepKeyword(work: Work): CodeKeywordDefinition {
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
        cxt.gen.code(_`if (${ERRORS} > ${ENOUGH}) ${enough}(${FOUND});`);
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
  return typeof data === "object" && data !== null && !Array.isArray(data) ? Object.keys(data).length : 0;
}

function stopForWork(): never {
  throw new OutOfWork("out of work");
}

function stopForErrors(errors: readonly unknown[]): never {
  throw new EnoughErrors(errors);
}
