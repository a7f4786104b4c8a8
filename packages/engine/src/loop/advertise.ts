import type { JSONSchema7, LanguageModelV4FunctionTool } from "@ai-sdk/provider";
import {
  DEFAULT_LIMITS,
  isJsonObject,
  type JsonObject,
  type JsonValue,
  type ToolManifest,
} from "@sallyport/protocol";
import { conductOf } from "../registry/conduct.ts";
import type { ToolsMode } from "./loop-settings.ts";
import type { LoopTool } from "./loop-tool.ts";
import { namesFor } from "./offered-names.ts";

/** What a model has to know of a tool. A manual one (CFG-TOOLS-02) is no more than this: a person gives its results. */
export type OfferedTool = Pick<LoopTool, "name" | "description" | "inputSchema">;

/** Anything that knows the tools that can be called now, such as a tool shelf. */
export interface CallableTools {
  definitions(): readonly ToolManifest[];
}

export interface LoopToolsOptions {
  /** Tools with looks of their own, such as a preflight; each stands for its tool and operation, under its own name. */
  faces?: readonly LoopTool[];
  /** Left out: every tool. */
  wanted?(manifest: ToolManifest, operation: string): boolean;
}

/**
 * Every registered operation as a tool of the loop, sorted by name (FR-REG-03, NFR-MAIN-03). The version is the one
 * whose schema the model sees, so no other runs. Operations whose input cannot be an object are left out: models send
 * nothing else. A face whose tool is not registered is left out too (FR-REG-03a).
 */
export function loopToolsOf(shelf: CallableTools, options: LoopToolsOptions = {}): LoopTool[] {
  const { faces = [], wanted = () => true } = options;
  const operations = shelf
    .definitions()
    .flatMap((manifest) => operationsOf(manifest))
    .filter(({ manifest, operation }) => wanted(manifest, operation));
  const worn = faces.filter((face) => operations.some((one) => isBehind(one, face)));
  const plain = operations.filter((one) => !worn.some((face) => isBehind(one, face)) && takesObject(one));
  const names = namesFor(
    plain,
    faces.map(({ name }) => name),
  );
  const tools = plain.map((one) => plainTool(one, names.get(one) ?? one.tool));
  return sortedByName([...worn, ...tools]);
}

interface Operation {
  tool: string;
  operation: string;
  isOneOfSeveral: boolean;
  manifest: ToolManifest;
}

function operationsOf(manifest: ToolManifest): Operation[] {
  const names = Object.keys(manifest.operations);
  return names.map((operation) => ({
    tool: manifest.id,
    operation,
    isOneOfSeveral: names.length > 1,
    manifest,
  }));
}

function isBehind({ tool, operation, isOneOfSeveral, manifest }: Operation, face: LoopTool): boolean {
  const sameVersion = face.version === undefined || face.version === manifest.version;
  const sameOperation = face.operation === undefined ? !isOneOfSeveral : face.operation === operation;
  return face.tool === tool && sameVersion && sameOperation;
}

function takesObject({ manifest, operation }: Operation): boolean {
  const type = manifest.operations[operation]?.inputSchema.type;
  return type === undefined || type === "object" || (Array.isArray(type) && type.includes("object"));
}

function plainTool({ manifest, tool, operation }: Operation, name: string): LoopTool {
  const declared = manifest.operations[operation] ?? { description: "", inputSchema: {} };
  return {
    name,
    description: declared.description || manifest.description,
    inputSchema: declared.inputSchema,
    sideEffects: conductOf(manifest, declared).sideEffects !== "none",
    tool,
    version: manifest.version,
    operation,
    timeout: statesTimeout(manifest, operation) ? "own" : "default",
  };
}

function statesTimeout({ limits, operations }: ToolManifest, operation: string): boolean {
  return operations[operation]?.timeoutMs !== undefined || limits.timeoutMs !== DEFAULT_LIMITS.timeoutMs;
}

export interface Offering {
  mode: ToolsMode;
  registered: readonly LoopTool[];
  /** From the configuration. */
  manual: readonly OfferedTool[];
}

/**
 * What is offered to the model: nothing when tools are disabled (FR-MODE-01); the configured ones in `parse_only`, or
 * the registered ones where none is configured; the registered ones in `enabled` (FR-REG-03a, CFG-TOOLS-02a).
 */
export function offeredTools({ mode, registered, manual }: Offering): OfferedTool[] {
  if (mode === "disabled") return [];
  return sortedByName(mode === "parse_only" && manual.length > 0 ? manual : registered);
}

/** The tools in the form a provider is given, sorted by name: equal tools give equal bytes. */
export function definitionsOf(tools: readonly OfferedTool[]): LanguageModelV4FunctionTool[] {
  return sortedByName(tools).map(({ name, description, inputSchema }) => ({
    type: "function",
    name,
    description,
    inputSchema: objectSchema(inputSchema),
  }));
}

/** Providers refuse a schema that does not say it is an object's; the loop refuses every other value anyway. */
function objectSchema(schema: JsonValue): JSONSchema7 {
  const declared: JsonObject = isJsonObject(schema) ? schema : {};
  const { type: _type, ...rest } = declared;
  // The provider's type knows draft 7 only; the words are JSON Schema's either way and are not read here.
  return { type: "object", ...(rest as JSONSchema7) };
}

function sortedByName<T extends { name: string }>(tools: readonly T[]): T[] {
  return [...tools].sort((a, b) => (a.name < b.name ? -1 : a.name > b.name ? 1 : 0));
}
