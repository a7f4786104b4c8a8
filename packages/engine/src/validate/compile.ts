import { createHash } from "node:crypto";
import {
  canonicalJson,
  type Failure,
  failure,
  isJsonObject,
  type JsonSchema,
  type JsonValue,
} from "@sallyport/protocol";
import type { ErrorObject, ValidateFunction } from "ajv/dist/2020.js";
import { explain } from "./explain.ts";
import { privateCopy, usesUnevaluated } from "./private-copy.ts";
import { readJson } from "./read-json.ts";
import { RecentMap } from "./recent-map.ts";
import { PatternEngine } from "./safe-pattern.ts";
import { SchemaEngine } from "./schema-engine.ts";
import type { SchemaTree } from "./schema-tree.ts";
import { unusable, VALID, type Validator, type Verdict } from "./verdict.ts";
import { walkSchema } from "./walk-schema.ts";
import { EnoughErrors, OutOfWork, Work } from "./work.ts";

export interface SchemaCompilerOptions {
  /** Steps one validation may take: about one for each subschema evaluated. */
  budget?: number;
  maxSchemaBytes?: number;
  /** Schemas inside schemas. */
  maxSchemaDepth?: number;
  maxSubschemas?: number;
  /** Compiled schemas kept by content. */
  maxCached?: number;
}

/** Judges and compiles JSON Schema 2020-12. Neither method throws, whatever the schema is. */
export interface SchemaCompiler {
  /** Says why a schema cannot be used (E3015, every place named); undefined when it can. The work is kept for `compile`. */
  check(schema: unknown): Failure | undefined;
  /**
   * Compiles once for each schema and for each content; the schema must not be changed afterwards. A schema that
   * cannot be used gives a validator whose every verdict is `unusable`.
   */
  compile(schema: JsonSchema): Validator;
}

const DEFAULTS: Required<SchemaCompilerOptions> = {
  budget: 1_000_000,
  maxSchemaBytes: 64 * 1024,
  maxSchemaDepth: 32,
  maxSubschemas: 2000,
  maxCached: 2000,
};

/** One compiler serves a whole process: it holds one Ajv instance and a bounded cache. */
export function createSchemaCompiler(options: SchemaCompilerOptions = {}): SchemaCompiler {
  return new Compiler({ ...DEFAULTS, ...options });
}

type Examined = { ok: true; tree: SchemaTree } | { ok: false; failure: Failure };

class Compiler implements SchemaCompiler {
  readonly #options: Required<SchemaCompilerOptions>;
  readonly #work: Work;
  readonly #patterns: PatternEngine;
  readonly #engine: SchemaEngine;
  readonly #bySchema = new WeakMap<JsonSchema, Validator>();
  readonly #byContent: RecentMap<string, CompiledSchema | RefusedSchema>;

  constructor(options: Required<SchemaCompilerOptions>) {
    this.#options = options;
    this.#work = new Work(options.budget);
    this.#patterns = new PatternEngine(this.#work);
    this.#engine = new SchemaEngine(this.#work, this.#patterns);
    this.#byContent = new RecentMap(options.maxCached);
  }

  check(schema: unknown): Failure | undefined {
    const compiled = this.#compiled(schema);
    return compiled instanceof CompiledSchema ? undefined : compiled.failure;
  }

  compile(schema: JsonSchema): Validator {
    const known = this.#bySchema.get(schema);
    if (known) return known;
    const validator = this.#compiled(schema);
    this.#bySchema.set(schema, validator);
    return validator;
  }

  #compiled(schema: unknown): CompiledSchema | RefusedSchema {
    const examined = this.#examine(schema);
    if (!examined.ok) return new RefusedSchema(examined.failure);
    const hash = contentHash(examined.tree);
    const known = this.#byContent.get(hash);
    if (known) return known;
    const validator = this.#compileTree(examined.tree);
    this.#byContent.set(hash, validator);
    return validator;
  }

  #examine(schema: unknown): Examined {
    const { maxSchemaBytes, maxSchemaDepth, maxSubschemas } = this.#options;
    const limits = { maxBytes: maxSchemaBytes, maxDepth: 4 * maxSchemaDepth, maxValues: maxSchemaBytes };
    const read = readJson(schema, limits);
    if (!read.ok) return { ok: false, failure: badSchema(read.failure) };
    if (!isJsonObject(read.value)) return { ok: false, failure: NOT_AN_OBJECT };
    const walkLimits = { maxSchemaDepth, maxSubschemas, maxPatterns: 200, maxPatternSize: 20_000 };
    const walked = walkSchema(read.value, walkLimits, this.#patterns);
    return walked.ok ? walked : { ok: false, failure: failure("E3015", { issues: walked.issues }) };
  }

  #compileTree(tree: SchemaTree): CompiledSchema | RefusedSchema {
    try {
      const unevaluated = usesUnevaluated(tree);
      return new CompiledSchema(this.#engine.compileOnce(privateCopy(tree), { unevaluated }), this.#work);
    } catch (thrown) {
      const message = thrown instanceof RangeError ? "Its references nest too deeply" : String(thrown);
      return new RefusedSchema(failure("E3015", { message: `The schema cannot be compiled: ${message}` }));
    }
  }
}

class CompiledSchema implements Validator {
  readonly #run: ValidateFunction;
  readonly #work: Work;

  constructor(run: ValidateFunction, work: Work) {
    this.#run = run;
    this.#work = work;
  }

  validate(value: JsonValue): Verdict {
    const run = this.#run;
    this.#work.begin();
    try {
      if (run(value)) return VALID;
      return explain(run.errors ?? []);
    } catch (thrown) {
      return this.#stopped(thrown);
    } finally {
      // The errors refer to the value; a validator must not keep it alive.
      run.errors = null;
    }
  }

  #stopped(thrown: unknown): Verdict {
    if (thrown instanceof EnoughErrors) return explain(thrown.errors as ErrorObject[]);
    if (thrown instanceof OutOfWork || thrown instanceof RangeError) return unusable(this.#work.exceeded());
    return unusable(failure("E3900", { message: `Validation failed unexpectedly: ${String(thrown)}` }));
  }
}

class RefusedSchema implements Validator {
  readonly failure: Failure;

  constructor(failed: Failure) {
    this.failure = failed;
  }

  validate(): Verdict {
    return unusable(this.failure);
  }
}

const NOT_AN_OBJECT = failure("E3015", { message: "A schema must be a JSON object" });

function badSchema(failed: Failure): Failure {
  return failure("E3015", {
    message:
      failed.code === "E3902" ? `The schema is over a limit. ${failed.message}` : "The schema is not JSON",
    ...(failed.issues && { issues: failed.issues }),
  });
}

function contentHash({ root }: SchemaTree): string {
  return createHash("sha256").update(canonicalJson(root.schema)).digest("base64");
}
