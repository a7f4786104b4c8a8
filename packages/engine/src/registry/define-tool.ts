import {
  completeManifest,
  DEFAULT_OPERATION,
  deepFreeze,
  failure,
  isJsonObject,
  type JsonSchema,
  type ManifestDraft,
  type OperationManifest,
  SallyportError,
  type ToolManifest,
  type Traits,
} from "@sallyport/protocol";
import type { ProcessProgram, ToolContext, ToolFunction } from "../ports/runner.ts";
import type { ToolCode } from "../ports/tools.ts";
import {
  type AnySchema,
  type InputOf,
  isVendorSchema,
  jsonSchemaOf,
  parseInput,
  type ResultOf,
} from "./vendor-schema.ts";

/** What an operation of a function and one of a command have in common. */
interface OperationFields extends Partial<Traits> {
  description: string;
  /** A Standard Schema that carries JSON Schema, or a plain JSON Schema 2020-12. */
  input: AnySchema;
  output?: AnySchema;
  timeoutMs?: number;
}

/** One thing a tool can do. */
interface OperationDefinition<Input extends AnySchema, Output extends AnySchema = AnySchema>
  extends OperationFields {
  input: Input;
  output?: Output;
  /**
   * One line for the person who approves a call (FR-REG-01): a sentence with `{argument}` in it, or, for a tool that
   * runs in this thread, a function that does no I/O.
   */
  summary?: string | ((input: InputOf<Input>) => string);
  run(input: InputOf<Input>, context: ToolContext): ResultOf<Output> | Promise<ResultOf<Output>>;
}

/** An operation whose types were checked where it was defined. */
interface AnyOperation extends OperationFields {
  summary?: string | ((input: never) => string);
  run(input: never, context: ToolContext): unknown;
}

/** One thing a tool does by running a command, started for each call in a sandbox and never through a shell. */
export interface CommandOperation extends OperationFields {
  /** One line for the person who approves a call: a sentence with `{argument}` in it. */
  summary?: string;
  /**
   * Program and arguments, such as `["wc", "-w", "{path}"]`: `{name}` becomes that argument of the call, `{name...}`
   * each item of a list. An element whose argument was not given is left out.
   */
  command: readonly string[];
  /** `json`: the input comes on stdin as one line of JSON. Left out: stdin is empty. */
  stdin?: ProcessProgram["stdin"];
  /** `json`: stdout is the result. `text` (default): the result is { exitCode, stdout, stderr }. */
  stdout?: ProcessProgram["stdout"];
  /** Exit codes that count as done; 0 when left out. */
  success?: readonly number[];
  /** Added to the sandbox's own environment; secrets do not belong here. */
  env?: Readonly<Record<string, string>>;
}

type ManifestFields = Omit<ManifestDraft, "operations" | "name"> & { name?: string };

/** A tool with several operations; `operation()` infers the types of each. */
interface ToolDefinition extends ManifestFields {
  operations: Record<string, AnyOperation>;
}

/** A tool with one operation, called `run`. */
interface SingleToolDefinition<Input extends AnySchema, Output extends AnySchema>
  extends ManifestFields,
    Omit<OperationDefinition<Input, Output>, keyof ManifestFields> {}

/** A tool made of commands: one, called `run`, or several by name. */
export type CommandDefinition =
  | (ManifestFields & CommandOperation)
  | (ManifestFields & { operations: Readonly<Record<string, CommandOperation>> });

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

/** Recognises a tool made by any copy of this package. */
export function isDefinedTool(value: unknown): value is DefinedTool {
  return typeof value === "object" && value !== null && Reflect.get(value, MARK) === true;
}

/** Gives an operation of a tool with several the types of its schemas. */
export function operation<Input extends AnySchema, Output extends AnySchema = AnySchema>(
  definition: OperationDefinition<Input, Output>,
): OperationDefinition<Input, Output> {
  return definition;
}

/** Thrown by a tool that knows which entry of the catalogue its failure is. Any other exception is a panic (E3907). */
export class ToolFailure extends Error {
  /** An own property, because an error that crosses a thread keeps only those. */
  readonly toolCode: ToolCode;
  /** For programs, beside the message; at most eight texts of 1,000 characters get through. */
  readonly toolDetails: Readonly<Record<string, string>>;

  constructor(code: ToolCode, message: string, details: Readonly<Record<string, string>> = {}) {
    super(message);
    this.name = "ToolFailure";
    this.toolCode = code;
    this.toolDetails = details;
  }
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
  const { operations, fields } = partsOf<AnyOperation>(definition);
  const summaries = Object.entries(operations).flatMap(([name, { summary }]) => {
    return typeof summary === "function"
      ? [[name, (input: unknown) => summary(input as never)] as const]
      : [];
  });
  return definedTool({
    manifest: completeManifest({ ...fields, operations: mapValues(operations, (each) => manifestOf(each)) }),
    operations: mapValues(operations, toolFunction),
    summaries: Object.fromEntries(summaries),
    programs: {},
  });
}

/**
 * Makes a tool of commands. An author who does not state `sideEffects` gets `state` when the tool reaches no host,
 * because all it can change is then staged, and `external` otherwise. Throws E3008 for a placeholder without argument.
 */
export function defineCommand(definition: CommandDefinition): DefinedTool {
  const { operations, fields } = partsOf<CommandOperation>(definition);
  const reachesHosts = (fields.permissions?.network ?? []).length + (fields.egressAllowlist ?? []).length > 0;
  const manifest = completeManifest({
    kind: "job_worker",
    sideEffects: reachesHosts ? "external" : "state",
    ...fields,
    operations: mapValues(operations, (each) =>
      manifestOf(each, each.stdout === "json" ? undefined : TEXT_RESULT),
    ),
  });
  return definedTool({ manifest, operations: {}, summaries: {}, programs: mapValues(operations, programOf) });
}

function definedTool(parts: Omit<DefinedTool, typeof MARK>): DefinedTool {
  return deepFreeze({ [MARK]: true as const, ...parts });
}

function mapValues<From, To>(
  record: Readonly<Record<string, From>>,
  make: (value: From, name: string) => To,
): Record<string, To> {
  return Object.fromEntries(Object.entries(record).map(([name, value]) => [name, make(value, name)]));
}

/** Fields of an operation that its manifest does not have. */
const CODE_FIELDS = new Set(["input", "output", "run", "command", "stdin", "stdout", "success", "env"]);

/** The operations of a definition, one called `run` where it has only one, and the fields of the manifest. */
function partsOf<Operation>(definition: ManifestFields & object): {
  operations: Readonly<Record<string, Operation>>;
  fields: Omit<ManifestDraft, "operations">;
} {
  const name = definition.name ?? definition.id;
  if ("operations" in definition) {
    const { operations, ...fields } = definition;
    return { operations: operations as Record<string, Operation>, fields: { ...fields, name } };
  }
  const operationFields: [string, unknown][] = [["description", definition.description]];
  const fields: [string, unknown][] = [["name", name]];
  for (const [field, value] of Object.entries(definition)) {
    if (value === undefined || field === "name") continue;
    const isOperations = CODE_FIELDS.has(field) || field === "timeoutMs" || field === "summary";
    (isOperations ? operationFields : fields).push([field, value]);
  }
  // The types of the definitions say which fields there are.
  return {
    operations: { [DEFAULT_OPERATION]: Object.fromEntries(operationFields) as Operation },
    fields: Object.fromEntries(fields) as unknown as Omit<ManifestDraft, "operations">,
  };
}

function manifestOf(definition: AnyOperation | CommandOperation, textResult?: JsonSchema): OperationManifest {
  const { description, input, output, summary } = definition;
  const stated = Object.entries(definition).filter(
    ([field]) => !CODE_FIELDS.has(field) && field !== "summary",
  );
  const outputSchema = output ? jsonSchemaOf(output, "output") : textResult;
  return {
    description,
    ...Object.fromEntries(stated),
    ...(typeof summary === "string" && { summary }),
    inputSchema: structuredClone(jsonSchemaOf(input, "input")),
    ...(outputSchema && { outputSchema: structuredClone(outputSchema) }),
  };
}

/** The library's own validation runs once and gives the typed value; the raw one goes no further (FR-REG-02). */
function toolFunction(definition: AnyOperation): ToolFunction {
  const { input: schema } = definition;
  if (typeof definition.run !== "function") {
    const message = "An operation has no `run`, the function that does its work.";
    throw new SallyportError(failure("E3008", { message }));
  }
  const run: ToolFunction = (typed: unknown, context) => definition.run(typed as never, context);
  if (!isVendorSchema(schema)) return run;
  return async (raw: unknown, context: ToolContext) => run(await parseInput(schema, raw), context);
}

const PLACEHOLDER = /^\{([^{}]+?)(\.\.\.)?\}$/;

function programOf(operation: CommandOperation, name: string): ProcessProgram {
  const { command, stdin = "none", stdout = "text", success = [0], env } = operation;
  const { properties } = jsonSchemaOf(operation.input, "input");
  const unknown = command.find((element) => {
    const argument = PLACEHOLDER.exec(element)?.[1];
    return argument !== undefined && !(isJsonObject(properties) && Object.hasOwn(properties, argument));
  });
  if (command.length === 0 || unknown !== undefined) {
    const what = unknown === undefined ? "is empty" : `names ${unknown}, which is no argument of it`;
    throw new SallyportError(failure("E3008", { message: `The command of operation "${name}" ${what}.` }));
  }
  return { command: [...command], stdin, stdout, success: [...success], env: { ...env } };
}

/** What a command gives that is not read as JSON (FR-EXE-06). */
const TEXT_RESULT: JsonSchema = {
  type: "object",
  properties: {
    exitCode: { type: "integer" },
    stdout: { type: "string" },
    stderr: { type: "string" },
    encoding: { enum: ["utf8", "base64"] },
  },
  required: ["exitCode", "stdout", "stderr"],
  additionalProperties: false,
};
