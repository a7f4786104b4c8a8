import {
  failure,
  type Issue,
  isJsonObject,
  type JsonSchema,
  type JsonValue,
  SallyportError,
} from "@sallyport/protocol";
import type { StandardJSONSchemaV1, StandardSchemaV1 } from "@standard-schema/spec";
import { pointTo } from "../match/document.ts";

/** A schema of a validation library: it can validate and knows its JSON Schema. */
interface VendorSchema<Input = unknown, Output = Input> {
  readonly "~standard": StandardSchemaV1.Props<Input, Output> & StandardJSONSchemaV1.Props<Input, Output>;
}

/** What a tool author may give as a schema. */
export type AnySchema = VendorSchema | JsonSchema;

/** What `run` is given: the library's own output type, or a JSON object for a plain JSON Schema. */
export type InputOf<Schema> = Schema extends StandardSchemaV1
  ? StandardSchemaV1.InferOutput<Schema>
  : JsonSchema;

/** What `run` must give back. */
export type ResultOf<Schema> = Schema extends StandardSchemaV1
  ? StandardSchemaV1.InferOutput<Schema>
  : unknown;

/** Libraries write formats and lookarounds that do not run everywhere; they still check those themselves. */
const PORTABLE_FORMATS = new Set("date-time date time duration email hostname ipv4 ipv6 uri uuid".split(" "));
const NOT_LINEAR = /\(\?<?[=!]|\\[1-9]|\\k</;

export function isVendorSchema(schema: object): schema is VendorSchema {
  const standard = standardOf(schema);
  return isRecord(standard) && typeof standard.validate === "function";
}

/**
 * The JSON Schema of either kind of schema. Throws a SallyportError (E3015), for the author to see at start-up,
 * when a library's schema has none, and says how to get one.
 */
export function jsonSchemaOf(schema: object, side: "input" | "output"): JsonSchema {
  if (!isRecord(schema)) {
    const wanted = `Give \`${side}\` a schema of zod, ArkType or Valibot, or plain JSON Schema`;
    throw new SallyportError(failure("E3008", { message: `An operation has no ${side} schema. ${wanted}.` }));
  }
  const standard = standardOf(schema);
  if (standard === undefined) return schema as JsonSchema;
  const convert = isRecord(standard) && isRecord(standard.jsonSchema) ? standard.jsonSchema[side] : undefined;
  if (typeof convert !== "function") throw new SallyportError(withoutJsonSchema(standard));
  const converted: unknown = convert({ target: "draft-2020-12" });
  const portable = withoutUnportable(JSON.parse(JSON.stringify(converted)));
  if (!isJsonObject(portable)) throw new SallyportError(withoutJsonSchema(standard));
  return portable;
}

function standardOf(schema: object): unknown {
  return Reflect.get(schema, "~standard");
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return (typeof value === "object" && value !== null) || typeof value === "function";
}

function withoutJsonSchema(standard: unknown) {
  const vendor = isRecord(standard) && typeof standard.vendor === "string" ? standard.vendor : "this library";
  return failure("E3015", {
    message: `A schema of ${vendor} does not carry its JSON Schema`,
    advice: HOW[vendor] ?? "Use a library with Standard JSON Schema, or give a plain JSON Schema.",
  });
}

const HOW: Record<string, string> = {
  zod: "Use zod 4.2 or newer.",
  valibot: "Wrap the schema: toStandardJsonSchema(schema) from @valibot/to-json-schema.",
  arktype: "Use arktype 2.1.28 or newer.",
};

/** Property names such as "format" are not keywords, so members of `properties` are told apart by their kind. */
function withoutUnportable(value: JsonValue): JsonValue {
  if (Array.isArray(value)) return value.map(withoutUnportable);
  if (!isJsonObject(value)) return value;
  const kept = Object.entries(value).filter(([keyword, member]) => isPortable(keyword, member));
  return Object.fromEntries(
    kept.map(([keyword, member]) => [keyword, DATA.has(keyword) ? member : withoutUnportable(member)]),
  );
}

const DATA = new Set(["enum", "const", "default", "examples"]);

function isPortable(keyword: string, member: JsonValue): boolean {
  if (typeof member !== "string") return true;
  if (keyword === "format") return PORTABLE_FORMATS.has(member);
  return keyword !== "pattern" || !NOT_LINEAR.test(member);
}

/** Thrown by a tool whose own schema refuses the input; runners report it as bad arguments, not as a failed tool. */
export class InvalidInput extends Error {
  /** An own property, because an error that crosses a thread keeps only those. */
  readonly invalidInput = true;
  readonly issues: Issue[];

  constructor(issues: Issue[]) {
    super(`Invalid input: ${issues.map(({ path, reason }) => `${path || "/"} ${reason}`).join("; ")}`);
    this.name = "InvalidInput";
    this.issues = issues;
  }
}

/** The typed value of an input, by the library's own validation. Throws InvalidInput when it refuses. */
export async function parseInput(schema: VendorSchema, raw: unknown): Promise<unknown> {
  const result = await schema["~standard"].validate(raw);
  if (result.issues) throw new InvalidInput(result.issues.map(issueOf));
  return result.value;
}

function issueOf({ message, path = [] }: StandardSchemaV1.Issue): Issue {
  const keys = path.map((segment) => String(typeof segment === "object" ? segment.key : segment));
  return { path: keys.reduce(pointTo, ""), reason: message };
}
