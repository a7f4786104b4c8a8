import { createHash } from "node:crypto";
import {
  canonicalJson,
  type Failure,
  failure,
  type Issue,
  type JsonObject,
  type JsonSchema,
  type JsonValue,
} from "@sallyport/protocol";
import { LruMap } from "../lru-map.ts";
import { type Evaluate, evaluatorOf } from "./evaluate.ts";
import { readJson } from "./json.ts";
import { isSchema } from "./keywords.ts";
import { PatternEngine } from "./patterns.ts";
import { EnoughErrors, OutOfWork, Run } from "./run.ts";
import { walkSchema } from "./schema-walk.ts";

/**
 * What a schema says about a value. `invalid`: the value is wrong, at these places. `unusable`: nothing can be
 * said, because the work budget ran out (E3916) or the schema itself is bad (E3015); treat it as a refusal.
 */
export type ValidationResult =
  | { readonly ok: true }
  | {
      readonly ok: false;
      readonly kind: "invalid";
      readonly issues: Issue[];
      /** Issues found beyond the listed ones; a lower bound once validation stopped counting. */
      readonly more: number;
    }
  | { readonly ok: false; readonly kind: "unusable"; readonly failure: Failure };

/** One compiled schema. */
export interface Validator {
  /** Never throws and never changes the value: no coercion, no defaults, no removal. */
  validate(value: JsonValue): ValidationResult;
}

export interface SchemaCompilerOptions {
  /** Steps one validation may take: about one for each subschema evaluated. */
  budget?: number;
  maxSchemaBytes?: number;
  /** Schemas inside schemas. */
  maxSchemaDepth?: number;
  maxSubschemas?: number;
  /** Compiled schemas kept by content. */
  maxCached?: number;
  /** Documents that references may name, by absolute URI without a fragment. Nothing is ever fetched. */
  documents?: ReadonlyMap<string, JsonSchema>;
}

/** Checks and compiles JSON Schema 2020-12. Neither method throws, whatever the schema is. */
export interface SchemaCompiler {
  /** Says why a schema cannot be used (E3015, every place named); undefined when it can. The work is kept for `compile`. */
  check(schema: unknown): Failure | undefined;
  /**
   * Compiles once for each schema and for each content; the schema must not be changed afterwards. A schema that
   * cannot be used gives a validator whose every result is `unusable`.
   */
  compile(schema: JsonSchema | boolean): Validator;
}

const DEFAULTS: Required<SchemaCompilerOptions> = {
  budget: 1_000_000,
  maxSchemaBytes: 64 * 1024,
  maxSchemaDepth: 32,
  maxSubschemas: 2000,
  maxCached: 2000,
  documents: new Map(),
};

/** One compiler serves a whole process: it holds bounded caches. */
export function createSchemaCompiler(options: SchemaCompilerOptions = {}): SchemaCompiler {
  return new Compiler({ ...DEFAULTS, ...options });
}

class Compiler implements SchemaCompiler {
  readonly #options: Required<SchemaCompilerOptions>;
  readonly #patterns = new PatternEngine();
  readonly #bySchema = new WeakMap<JsonSchema, Validator>();
  readonly #byContent: LruMap<string, CompiledSchema | RefusedSchema>;

  constructor(options: Required<SchemaCompilerOptions>) {
    this.#options = options;
    this.#byContent = new LruMap(options.maxCached);
  }

  check(schema: unknown): Failure | undefined {
    const compiled = this.#compiled(schema);
    return compiled instanceof CompiledSchema ? undefined : compiled.failure;
  }

  compile(schema: JsonSchema | boolean): Validator {
    if (typeof schema === "boolean") return this.#compiled(schema);
    const known = this.#bySchema.get(schema);
    if (known) return known;
    const validator = this.#compiled(schema);
    this.#bySchema.set(schema, validator);
    return validator;
  }

  #compiled(schema: unknown): CompiledSchema | RefusedSchema {
    const { maxSchemaBytes, maxSchemaDepth } = this.#options;
    const limits = { maxBytes: maxSchemaBytes, maxDepth: 4 * maxSchemaDepth, maxValues: maxSchemaBytes };
    const read = readJson(schema, { ...limits, protoNames: true });
    if (!read.ok) return new RefusedSchema(badSchema(read.failure));
    const { value } = read;
    if (!isSchema(value)) return new RefusedSchema(NOT_A_SCHEMA);
    const hash = createHash("sha256").update(canonicalJson(value)).digest("base64");
    return this.#byContent.getOrAdd(hash, () => this.#compileContent(value));
  }

  #compileContent(schema: JsonObject | boolean): CompiledSchema | RefusedSchema {
    const walked = walkSchema(schema, this.#options, this.#patterns);
    if (!walked.ok) return new RefusedSchema(failure("E3015", { issues: walked.issues }));
    return new CompiledSchema(evaluatorOf(walked.tree, this.#patterns), this.#options.budget);
  }
}

const VALID: ValidationResult = Object.freeze({ ok: true });

class CompiledSchema implements Validator {
  readonly #evaluate: Evaluate;
  readonly #budget: number;

  constructor(evaluate: Evaluate, budget: number) {
    this.#evaluate = evaluate;
    this.#budget = budget;
  }

  validate(value: JsonValue): ValidationResult {
    const run = new Run(this.#budget);
    try {
      this.#evaluate(value, run);
    } catch (thrown) {
      if (!(thrown instanceof EnoughErrors)) return unusable(this.#failureOf(thrown));
    }
    return run.errors === 0 ? VALID : { ok: false, kind: "invalid", ...run.issues() };
  }

  #failureOf(thrown: unknown): Failure {
    const isExceeded = thrown instanceof OutOfWork || thrown instanceof RangeError;
    if (!isExceeded)
      return failure("E3900", { message: `Validation failed unexpectedly: ${String(thrown)}` });
    return failure("E3916", {
      message: `Checking the value against its schema took more than ${this.#budget} steps`,
      details: { budget: this.#budget },
    });
  }
}

class RefusedSchema implements Validator {
  readonly failure: Failure;

  constructor(failed: Failure) {
    this.failure = failed;
  }

  validate(): ValidationResult {
    return unusable(this.failure);
  }
}

function unusable(failed: Failure): ValidationResult {
  return { ok: false, kind: "unusable", failure: failed };
}

const NOT_A_SCHEMA = failure("E3015", { message: "A schema must be a JSON object, true or false" });

function badSchema({ code, message, issues }: Failure): Failure {
  return failure("E3015", {
    message: code === "E3902" ? `The schema is over a limit. ${message}` : "The schema is not JSON",
    ...(issues && { issues }),
  });
}
