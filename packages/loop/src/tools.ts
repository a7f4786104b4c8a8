import { createHash } from "node:crypto";
import type { JSONSchema7, LanguageModelV4FunctionTool } from "@ai-sdk/provider";
import { traitsOf } from "@sallyport/engine/host";
import {
  DEFAULT_LIMITS,
  type Failure,
  type FileEffects,
  isJsonObject,
  type JsonObject,
  type JsonValue,
  type ToolManifest,
} from "@sallyport/protocol";
import type { ToolsMode } from "./settings.ts";

/** A tool as the loop offers it to a model. The engine's tool behind it is what runs. */
export interface LoopTool {
  /** What the model calls it: letters, digits, `_` and `-`, at most 64. */
  name: string;
  description: string;
  /** JSON Schema 2020-12 of its arguments. */
  inputSchema: JsonValue;
  sideEffects: boolean;
  /** The engine's tool and operation. */
  tool: string;
  version?: string;
  operation?: string;
  /** How long its arguments may be, as JSON, where a limit of its own decides (D-11). Left out: the loop's. */
  maxArgumentBytes?: number;
  /** `default`: it states no time limit of its own, so the loop's counts (FR-EXE-03). Left out: its own. */
  timeout?: "own" | "default";
  /** Looks, before anybody is asked, whether the call could run at all, such as whether its paths are allowed. */
  preflight?(input: JsonValue, conversationId: string): Promise<Failure | undefined>;
  /** A result as the model gets it, where it is not simply the result's own text or JSON. */
  textOf?(result: JsonValue): string;
  /**
   * What the call would change in files as things stand, for the person who is asked; a failure when the tool itself
   * would refuse it with that, for certain; undefined when it cannot tell. Changes nothing. Only for a tool that has no
   * other effects: nobody is asked about a call that it says would fail.
   */
  preview?(input: JsonValue, conversationId: string): Promise<FileEffects | Failure | undefined>;
}

const LONGEST_NAME = 64;
const DIGITS = [8, 16, 32, 63] as const;

/** One operation of a registered tool. */
interface Operation {
  tool: string;
  operation: string;
  /** The tool has more than one operation: then the name says which. */
  isOneOfSeveral: boolean;
  manifest: ToolManifest;
}

/**
 * Gives every operation a name providers take: letters, digits, `_` and `-`, at most 64, a letter or `_` first. Names
 * do not depend on the order of the list. Where two would be alike, the one that is so by nature keeps it and the
 * others end in a piece of a hash; names in `taken` are nobody's, so no tool can pass itself off as one of those.
 */
function namesFor(items: readonly Operation[], taken: Iterable<string>): Map<Operation, string> {
  const names = new Map<Operation, string>();
  const used = new Set(taken);
  for (const [wish, rivals] of Map.groupBy(items, wishOf)) {
    const winner = winnerOf(wish, rivals);
    if (winner && !used.has(wish)) names.set(winner, wish);
  }
  for (const name of names.values()) used.add(name);
  for (const item of items) if (!names.has(item)) names.set(item, distinguished(item, used));
  return names;
}

function plainName({ tool, operation, isOneOfSeveral }: Operation): string {
  return isOneOfSeveral ? `${tool}__${operation}` : tool;
}

function wishOf(item: Operation): string {
  const safe = plainName(item).replaceAll(/[^A-Za-z0-9_-]/g, "_");
  return /^[A-Za-z_]/.test(safe) ? safe : `_${safe}`;
}

function winnerOf(wish: string, rivals: readonly Operation[]): Operation | undefined {
  if (wish.length > LONGEST_NAME) return undefined;
  if (rivals.length === 1) return rivals[0];
  const natural = rivals.filter((item) => plainName(item) === wish);
  return natural.length === 1 ? natural[0] : undefined;
}

function distinguished(item: Operation, used: Set<string>): string {
  const hash = createHash("sha256").update(`${item.tool}\0${item.operation}`).digest("hex");
  const wish = wishOf(item);
  const ends = DIGITS.map((digits) => `${wish.slice(0, LONGEST_NAME - 1 - digits)}_${hash.slice(0, digits)}`);
  const name = ends.find((end) => !used.has(end)) ?? `_${hash.slice(0, LONGEST_NAME - 1)}`;
  used.add(name);
  return name;
}

/** What a model has to know of a tool. A manual one (CFG-TOOLS-02) is no more than this: a person gives its results. */
export type OfferedTool = Pick<LoopTool, "name" | "description" | "inputSchema">;

interface LoopToolsOptions {
  /** Tools with looks of their own, such as a preflight; each stands for its tool and operation, under its own name. */
  customTools?: readonly LoopTool[];
  /** Left out: every tool. */
  wanted?(manifest: ToolManifest, operation: string): boolean;
}

/**
 * Every registered operation as a tool of the loop, sorted by name (FR-REG-03, NFR-MAIN-03). The version is the one
 * whose schema the model sees, so no other runs. Operations whose input cannot be an object are left out: models send
 * nothing else. A face whose tool is not registered is left out too (FR-REG-03a).
 */
export function loopToolsOf(
  registered: { definitions(): readonly ToolManifest[] },
  options: LoopToolsOptions = {},
): LoopTool[] {
  const { customTools = [], wanted = () => true } = options;
  const operations = registered
    .definitions()
    .flatMap(operationsOf)
    .filter(({ manifest, operation }) => wanted(manifest, operation));
  const worn = customTools.filter((face) => operations.some((one) => isBehind(one, face)));
  const plain = operations.filter((one) => !worn.some((face) => isBehind(one, face)) && takesObject(one));
  const names = namesFor(
    plain,
    customTools.map(({ name }) => name),
  );
  const tools = plain.map((one) => plainTool(one, names.get(one) ?? one.tool));
  return sortedByName([...worn, ...tools]);
}

function operationsOf(manifest: ToolManifest): Operation[] {
  const names = Object.keys(manifest.operations);
  const isOneOfSeveral = names.length > 1;
  return names.map((operation) => ({ tool: manifest.id, operation, isOneOfSeveral, manifest }));
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
    sideEffects: traitsOf(manifest, declared).sideEffects !== "none",
    tool,
    version: manifest.version,
    operation,
    timeout: statesTimeout(manifest, operation) ? "own" : "default",
  };
}

function statesTimeout({ limits, operations }: ToolManifest, operation: string): boolean {
  return operations[operation]?.timeoutMs !== undefined || limits.timeoutMs !== DEFAULT_LIMITS.timeoutMs;
}

interface Offering {
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
