import { defined } from "./defined.ts";
import type { JsonObject, JsonSchema } from "./json.ts";
import { DEFAULT_OPERATION, type ResourceLimits, type ToolManifest } from "./manifest.ts";
import { completeManifest } from "./manifest-draft.ts";

/** A tool declaration in R1's words (R1-4.1): one input and one output schema. */
export interface R1Declaration {
  id: string;
  version: string;
  name: string;
  description: string;
  inputSchema: JsonSchema;
  outputSchema: JsonSchema;
  requiredCapabilities: string[];
  resourceLimits: R1ResourceLimits;
  deterministic: boolean;
  idempotent: boolean;
  metadata?: JsonObject;
}

export interface R1ResourceLimits {
  /** Milliseconds. */
  maxExecutionTime: number;
  /** Bytes, like `maxFileSize`. */
  maxMemory: number;
  maxFileSize?: number;
  maxFileDescriptors?: number;
  maxProcesses?: number;
}

/** Translates a declaration that fits R1_DECLARATION_SCHEMA; the result fits MANIFEST_SCHEMA. */
export function fromR1Declaration(declared: R1Declaration): ToolManifest {
  const { inputSchema, outputSchema, resourceLimits, metadata, ...same } = declared;
  return completeManifest({
    ...same,
    operations: { [DEFAULT_OPERATION]: { description: declared.description, inputSchema, outputSchema } },
    limits: limitsFrom(resourceLimits),
    source: { type: "native", ...defined({ metadata }) },
  });
}

function limitsFrom(limits: R1ResourceLimits): Partial<ResourceLimits> {
  return defined({
    timeoutMs: limits.maxExecutionTime,
    memoryBytes: limits.maxMemory,
    maxFileBytes: limits.maxFileSize,
    maxOpenFiles: limits.maxFileDescriptors,
    maxProcesses: limits.maxProcesses,
  });
}
