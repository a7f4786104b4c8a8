import type { JsonObject } from "@sallyport/protocol";
import { Ajv2020, type ValidateFunction } from "ajv/dist/2020.js";
import { ValueScope } from "ajv/dist/compile/codegen/index.js";
import { formatChecks } from "./formats.ts";
import type { PatternEngine } from "./safe-pattern.ts";
import { stepKeyword } from "./step-keyword.ts";
import { valueKeywords } from "./value-keywords.ts";
import type { Work } from "./work.ts";

/** The kinds of values that generated code refers to. */
const SCOPE_NAMES = new Set([
  "validate",
  "wrapper",
  "root",
  "schema",
  "keyword",
  "pattern",
  "formats",
  "func",
  "obj",
  "Error",
]);

/**
 * The one Ajv instance. A fresh value scope for each schema keeps its memory flat: the instance's own scope would
 * hold on to every schema, pattern and function ever compiled.
 */
export class SchemaEngine extends Ajv2020 {
  declare scope: ValueScope;

  constructor(work: Work, patterns: PatternEngine) {
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

  /** Compiles a private copy and forgets it; throws what Ajv throws, which the walk before it should make impossible. */
  compileOnce(copy: JsonObject, { unevaluated }: { unevaluated: boolean }): ValidateFunction {
    this.opts.unevaluated = unevaluated;
    this.scope = new ValueScope({ scope: {}, prefixes: SCOPE_NAMES });
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
