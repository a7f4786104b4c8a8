import {
  type Conduct,
  completeManifest,
  DEFAULT_OPERATION,
  type ManifestDraft,
  type OperationManifest,
  type ToolManifest,
} from "@sallyport/protocol";
import type { ProcessProgram, ToolContext, ToolFunction } from "../ports/runner.ts";
import { deepFreeze } from "./decode-manifest.ts";
import { parsed } from "./invalid-input.ts";
import {
  type AnySchema,
  type InputOf,
  isVendorSchema,
  jsonSchemaOf,
  type ResultOf,
} from "./vendor-schema.ts";

export { InvalidInput } from "./invalid-input.ts";

/** One thing a tool can do. */
export interface OperationDefinition<Input extends AnySchema, Output extends AnySchema = AnySchema>
  extends Partial<Conduct> {
  description: string;
  /** A Standard Schema that carries JSON Schema, or a plain JSON Schema 2020-12. */
  input: Input;
  output?: Output;
  timeoutMs?: number;
  /**
   * One line for the person who approves a call (FR-REG-01): a sentence with `{argument}` in it, or, for a tool that
   * runs in this thread, a function that does no I/O.
   */
  summary?: string | ((input: InputOf<Input>) => string);
  run(input: InputOf<Input>, context: ToolContext): ResultOf<Output> | Promise<ResultOf<Output>>;
}

export type ManifestFields = Omit<ManifestDraft, "operations" | "name"> & { name?: string };

/** A tool with several operations; `operation()` infers the types of each. */
export interface ToolDefinition extends ManifestFields {
  operations: Record<string, AnyOperation>;
}

/** A tool with one operation, called `run`. */
export interface SingleToolDefinition<Input extends AnySchema, Output extends AnySchema>
  extends ManifestFields,
    Omit<OperationDefinition<Input, Output>, keyof ManifestFields> {}

/** An operation whose types were checked where it was defined. */
export interface AnyOperation extends Partial<Conduct> {
  description: string;
  input: AnySchema;
  output?: AnySchema;
  timeoutMs?: number;
  summary?: string | ((input: never) => string);
  run(input: never, context: ToolContext): unknown;
}

const MARK: unique symbol = Symbol.for("sallyport.tool");

/** A tool ready to be registered: what it says about itself, and the functions that do it. */
export interface DefinedTool {
  readonly [MARK]: true;
  readonly manifest: ToolManifest;
  readonly operations: Readonly<Record<string, ToolFunction>>;
  /** Approval summaries by operation, where the author gave one. */
  readonly summaries: Readonly<Record<string, (input: unknown) => string>>;
  /** Of a tool made of commands: the program of each operation; then there are no functions. */
  readonly programs: Readonly<Record<string, ProcessProgram>>;
}

/** Gives an operation of a tool with several the types of its schemas. */
export function operation<Input extends AnySchema, Output extends AnySchema = AnySchema>(
  definition: OperationDefinition<Input, Output>,
): OperationDefinition<Input, Output> {
  return definition;
}

/**
 * Makes a tool of an author's functions and schemas. An author who does not state `sideEffects` gets `external`,
 * the safe answer. Throws a SallyportError (E3015) for a library schema without JSON Schema: that is found at
 * start-up, not by a caller. The manifest is judged when it is registered.
 */
export function defineTool<Input extends AnySchema, Output extends AnySchema = AnySchema>(
  definition: SingleToolDefinition<Input, Output>,
): DefinedTool;
export function defineTool(definition: ToolDefinition): DefinedTool;
export function defineTool(definition: ToolDefinition | (ManifestFields & AnyOperation)): DefinedTool {
  const { operations, fields } = partsOf(definition);
  const manifests = Object.entries(operations).map(
    ([name, each]) => [name, operationManifest(each)] as const,
  );
  const manifest = completeManifest({ ...fields, operations: Object.fromEntries(manifests) });
  const functions = Object.entries(operations).map(([name, each]) => [name, toolFunction(each)] as const);
  return Object.freeze({
    [MARK]: true as const,
    manifest: deepFreeze(manifest),
    operations: Object.freeze(Object.fromEntries(functions)),
    summaries: Object.freeze(Object.fromEntries(Object.entries(operations).flatMap(summaryOf))),
    programs: NO_PROGRAMS,
  });
}

const NO_PROGRAMS = Object.freeze({});

/** A tool whose operations are commands. */
export function commandTool(
  manifest: ToolManifest,
  programs: Readonly<Record<string, ProcessProgram>>,
): DefinedTool {
  return Object.freeze({
    [MARK]: true as const,
    manifest: deepFreeze(manifest),
    operations: Object.freeze({}),
    summaries: Object.freeze({}),
    programs: deepFreeze(programs),
  });
}

/** Recognises a tool made by any copy of this package. */
export function isDefinedTool(value: unknown): value is DefinedTool {
  return typeof value === "object" && value !== null && Reflect.get(value, MARK) === true;
}

interface Parts {
  operations: Record<string, AnyOperation>;
  fields: Omit<ManifestDraft, "operations">;
}

function partsOf(definition: ToolDefinition | (ManifestFields & AnyOperation)): Parts {
  if ("operations" in definition) {
    const { operations, ...fields } = definition;
    return { operations, fields: { ...fields, name: fields.name ?? fields.id } };
  }
  const { input, output, timeoutMs, summary, run, ...fields } = definition;
  const only: AnyOperation = {
    description: fields.description,
    input,
    run,
    ...(output && { output }),
    ...(timeoutMs !== undefined && { timeoutMs }),
    ...(summary && { summary }),
  };
  return { operations: { [DEFAULT_OPERATION]: only }, fields: { ...fields, name: fields.name ?? fields.id } };
}

function operationManifest(definition: AnyOperation): OperationManifest {
  const { input, output, run: _run, summary, ...stated } = definition;
  return {
    ...stated,
    ...(typeof summary === "string" && { summary }),
    inputSchema: structuredClone(jsonSchemaOf(input, "input")),
    ...(output && { outputSchema: structuredClone(jsonSchemaOf(output, "output")) }),
  };
}

/** The library's own validation runs once and gives the typed value; the raw one goes no further (FR-REG-02). */
function toolFunction(definition: AnyOperation): ToolFunction {
  const { input: schema } = definition;
  const run: ToolFunction = (typed: unknown, context) => definition.run(typed as never, context);
  if (!isVendorSchema(schema)) return run;
  return async (raw: unknown, context: ToolContext) => run(await parsed(schema, raw), context);
}

function summaryOf([name, definition]: [string, AnyOperation]): [string, (input: unknown) => string][] {
  const { summary } = definition;
  return typeof summary === "function" ? [[name, (input) => summary(input as never)]] : [];
}
