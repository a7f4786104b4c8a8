import {
  type Conduct,
  completeManifest,
  DEFAULT_OPERATION,
  failure,
  isJsonObject,
  type JsonSchema,
  type OperationManifest,
  SallyportError,
} from "@sallyport/protocol";
import type { ProcessProgram } from "../ports/runner.ts";
import { commandTool, type DefinedTool, type ManifestFields } from "./define-tool.ts";
import { type AnySchema, jsonSchemaOf } from "./vendor-schema.ts";

/** One thing a tool does by running a command, started for each call in a sandbox and never through a shell. */
export interface CommandOperation extends Partial<Conduct> {
  description: string;
  input: AnySchema;
  output?: AnySchema;
  timeoutMs?: number;
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

/** A tool made of commands: one, called `run`, or several by name. */
export type CommandDefinition =
  | (ManifestFields & CommandOperation)
  | (ManifestFields & { operations: Readonly<Record<string, CommandOperation>> });

const PLACEHOLDER = /^\{([^{}]+?)(\.\.\.)?\}$/;

/**
 * Makes a tool of commands. An author who does not state `sideEffects` gets `state` when the tool reaches no host,
 * because all it can change is then staged, and `external` otherwise. Throws E3008 for a placeholder without argument.
 */
export function defineCommand(definition: CommandDefinition): DefinedTool {
  const { operations, fields } = partsOf(definition);
  const manifests = Object.entries(operations).map(([name, each]) => [name, manifestOf(each)] as const);
  const reachesHosts = (fields.permissions?.network ?? []).length + (fields.egressAllowlist ?? []).length > 0;
  const manifest = completeManifest({
    kind: "job_worker",
    sideEffects: reachesHosts ? "external" : "state",
    ...fields,
    name: fields.name ?? fields.id,
    operations: Object.fromEntries(manifests),
  });
  const programs = Object.entries(operations).map(([name, each]) => [name, programOf(name, each)] as const);
  return commandTool(manifest, Object.fromEntries(programs));
}

function partsOf(definition: CommandDefinition): {
  operations: Readonly<Record<string, CommandOperation>>;
  fields: ManifestFields;
} {
  if ("operations" in definition) {
    const { operations, ...fields } = definition;
    return { operations, fields };
  }
  const { input, output, timeoutMs, summary, command, stdin, stdout, success, env, ...fields } = definition;
  const only: CommandOperation = {
    description: fields.description,
    input,
    command,
    ...(output && { output }),
    ...(timeoutMs !== undefined && { timeoutMs }),
    ...(summary !== undefined && { summary }),
    ...(stdin && { stdin }),
    ...(stdout && { stdout }),
    ...(success && { success }),
    ...(env && { env }),
  };
  return { operations: { [DEFAULT_OPERATION]: only }, fields };
}

function manifestOf(operation: CommandOperation): OperationManifest {
  const {
    input,
    output,
    command: _command,
    stdin: _stdin,
    stdout,
    success: _s,
    env: _e,
    ...stated
  } = operation;
  const outputSchema = output ? jsonSchemaOf(output, "output") : stdout === "json" ? undefined : TEXT_RESULT;
  return {
    ...stated,
    inputSchema: structuredClone(jsonSchemaOf(input, "input")),
    ...(outputSchema && { outputSchema: structuredClone(outputSchema) }),
  };
}

function programOf(name: string, { input, command, ...rest }: CommandOperation): ProcessProgram {
  const schema = jsonSchemaOf(input, "input");
  const unknown = command.find((element) => isUnknown(element, schema));
  if (command.length === 0 || unknown !== undefined) {
    const what = unknown === undefined ? "is empty" : `names ${unknown}, which is no argument of it`;
    throw new SallyportError(failure("E3008", { message: `The command of operation "${name}" ${what}.` }));
  }
  return {
    command: [...command],
    stdin: rest.stdin ?? "none",
    stdout: rest.stdout ?? "text",
    success: [...(rest.success ?? [0])],
    env: { ...rest.env },
  };
}

function isUnknown(element: string, schema: JsonSchema): boolean {
  const argument = PLACEHOLDER.exec(element)?.[1];
  if (argument === undefined) return false;
  const properties = isJsonObject(schema) ? schema.properties : undefined;
  return !isJsonObject(properties) || !Object.hasOwn(properties, argument);
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
