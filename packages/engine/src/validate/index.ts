export {
  createSchemaCompiler,
  type SchemaCompiler,
  type SchemaCompilerOptions,
} from "./compile.ts";
export { type JsonLimits, type ReadResult, readJson } from "./json.ts";
export { lintSchema, type SchemaFinding } from "./lint.ts";
export { checkSteps, type ResultStep, STRICT_RESULT, unfitPart, unfitResult } from "./result-steps.ts";
