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
import type { ErrorObject, ValidateFunction } from "ajv/dist/2020.js";
import { LruMap } from "../lru-map.ts";
import { AjvEngine } from "./ajv-engine.ts";
import { type FindErrors, interpret, mustInterpret } from "./interpret.ts";
import { readJson } from "./json.ts";
import { isSchema } from "./keywords.ts";
import { PatternEngine } from "./patterns.ts";
import { explainErrors } from "./reasons.ts";
import { type SchemaTree, walkSchema } from "./schema-walk.ts";
import { EnoughErrors, OutOfWork, WorkBudget } from "./work-budget.ts";

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

/** One compiler serves a whole process: it holds one Ajv instance and a bounded cache. */
export function createSchemaCompiler(options: SchemaCompilerOptions = {}): SchemaCompiler {
  return new Compiler({ ...DEFAULTS, ...options });
}

class Compiler implements SchemaCompiler {
  readonly #options: Required<SchemaCompilerOptions>;
  readonly #work: WorkBudget;
  readonly #patterns: PatternEngine;
  readonly #ajv: AjvEngine;
  readonly #bySchema = new WeakMap<JsonSchema, Validator>();
  readonly #byContent: LruMap<string, CompiledSchema | RefusedSchema>;

  constructor(options: Required<SchemaCompilerOptions>) {
    this.#options = options;
    this.#work = new WorkBudget(options.budget);
    this.#patterns = new PatternEngine(this.#work);
    this.#ajv = new AjvEngine(this.#work, this.#patterns);
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
    try {
      return new CompiledSchema(this.#findErrors(walked.tree), this.#work);
    } catch (thrown) {
      const message = thrown instanceof RangeError ? "Its references nest too deeply" : String(thrown);
      return new RefusedSchema(failure("E3015", { message: `The schema cannot be compiled: ${message}` }));
    }
  }

  #findErrors(tree: SchemaTree): FindErrors {
    const tools = { ajv: this.#ajv, patterns: this.#patterns, work: this.#work };
    return mustInterpret(tree) ? interpret(tree, tools) : errorsOf(this.#ajv.compileTree(tree.root));
  }
}

function errorsOf(run: ValidateFunction): FindErrors {
  return (value) => {
    try {
      return run(value) ? [] : (run.errors ?? []);
    } finally {
      // The errors refer to the value; a validator must not keep it alive.
      run.errors = null;
    }
  };
}

const VALID: ValidationResult = Object.freeze({ ok: true });

class CompiledSchema implements Validator {
  readonly #findErrors: FindErrors;
  readonly #work: WorkBudget;

  constructor(findErrors: FindErrors, work: WorkBudget) {
    this.#findErrors = findErrors;
    this.#work = work;
  }

  validate(value: JsonValue): ValidationResult {
    this.#work.begin();
    try {
      const errors = this.#findErrors(value);
      return errors.length === 0 ? VALID : invalid(errors);
    } catch (thrown) {
      return this.#stopped(thrown);
    }
  }

  #stopped(thrown: unknown): ValidationResult {
    if (thrown instanceof EnoughErrors) return invalid(thrown.errors as ErrorObject[]);
    if (thrown instanceof OutOfWork || thrown instanceof RangeError) return unusable(this.#work.exceeded());
    return unusable(failure("E3900", { message: `Validation failed unexpectedly: ${String(thrown)}` }));
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

function invalid(errors: readonly ErrorObject[]): ValidationResult {
  return { ok: false, kind: "invalid", ...explainErrors(errors) };
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
