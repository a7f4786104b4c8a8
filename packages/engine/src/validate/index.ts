export { createSchemaCompiler, type SchemaCompiler, type SchemaCompilerOptions } from "./compile.ts";
export { lintSchema, type SchemaFinding } from "./lint-schema.ts";
export { type JsonLimits, type ReadResult, readJson } from "./read-json.ts";
export type { Validator, Verdict } from "./verdict.ts";
