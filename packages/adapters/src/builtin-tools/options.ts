import type { Clock } from "@sallyport/engine/ports";
import type { DefinedTool } from "@sallyport/engine/tool";
import type { LoopTool, OutputBudgetOf, ReadLedger } from "@sallyport/loop";
import type { JsonValue } from "@sallyport/protocol";
import type { PathSandbox } from "../path-sandbox/index.ts";
import type { OffLimits } from "./off-limits.ts";

/** How much the built-in tools read, change and list (CFG-READ-01, CFG-PATCH-01, CFG-TMO-01). */
export interface BuiltinLimits {
  /** The largest text that is given back without a line range. */
  maxFileReadBytes: number;
  /** How far into a file a line range is looked for (FR-LIM-05). */
  maxScanBytes: number;
  /** The largest patch (FR-LIM-04). */
  maxPatchBytes: number;
  /** Larger files are not patched, and of those that are read only the beginning is held in memory. */
  maxFileBytes: number;
  fileTimeoutMs: number;
  shellTimeoutMs: number;
  list: ListLimits;
}

/** What list_directory does unless a call says otherwise; the two numbers are also the most a call may ask for. */
export interface ListLimits {
  maxEntries: number;
  maxDepth: number;
  includeHidden: boolean;
  includeFiles: boolean;
  includeDirs: boolean;
  includeSymlinks: boolean;
  includeOther: boolean;
}

export const DEFAULT_BUILTIN_LIMITS: BuiltinLimits = Object.freeze({
  maxFileReadBytes: 200 * 1024,
  maxScanBytes: 2 * 1024 * 1024,
  maxPatchBytes: 512 * 1024,
  maxFileBytes: 64 * 1024 * 1024,
  fileTimeoutMs: 30_000,
  shellTimeoutMs: 300_000,
  list: Object.freeze({
    maxEntries: 200,
    maxDepth: 4,
    includeHidden: false,
    includeFiles: true,
    includeDirs: true,
    includeSymlinks: true,
    includeOther: false,
  }),
});

/** Limits as an owner gives them; what is left out is the default. */
export type GivenLimits = Partial<Omit<BuiltinLimits, "list">> & { list?: Partial<ListLimits> };

/** What the built-in tools work with. What is off limits is so for the house anyway: here it is told in good time. */
export interface BuiltinOptions extends OffLimits {
  /** Says which paths may be touched. */
  sandbox: PathSandbox;
  /** Remembers what was read in which conversation. */
  reads: ReadLedger;
  /** Says how much a call may give back. */
  outputBudgets: OutputBudgetOf;
  /** The workspace: absolute, there already, and holding every folder the sandbox allows. */
  root: string;
  /** Where commands start; the workspace when left out. Has to be in it. */
  cwd?: string;
  /** Folders outside the workspace that commands may read. Absolute. */
  readOnly?: readonly string[];
  limits?: GivenLimits;
  /** The environment that commands inherit, before it is sanitised. Empty when left out. */
  env?: Readonly<Record<string, string | undefined>>;
  /** More names (`*` for any characters) that commands do not inherit. */
  environmentDenylist?: readonly string[];
  clock?: Clock;
  /** Which shell runs commands: `cmd.exe` on win32, `sh` elsewhere. This system's when left out. */
  platform?: NodeJS.Platform;
}

/** A tool for an engine, and what a loop has to know of it besides. */
export interface BuiltinTool {
  tool: DefinedTool;
  loop: LoopTool;
  /** The loop's `textOf`, for those who have no loop: the text of a result that is not one itself. */
  resultText?(result: JsonValue): string;
}
