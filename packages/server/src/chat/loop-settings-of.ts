import { type GivenLimits, patchArgumentBytes } from "@sallyport/adapters/builtin-tools";
import type { LoopSettings, ModelWindow, ToolsMode } from "@sallyport/loop";
import type { LoadedConfig } from "../config/load.ts";
import type { Retention } from "./keeping/index.ts";

const SECOND_MS = 1_000;
const MIB = 1_024 * 1_024;

/** The loop's rules, in the engine's words. */
export function loopSettingsOf(
  { loop }: Pick<LoadedConfig, "loop">,
  { mode = loop.mode, window }: { mode?: ToolsMode | undefined; window: ModelWindow },
): LoopSettings {
  const { approval } = loop;
  return {
    mode,
    allowParallel: loop.allow_parallel,
    policy: {
      enabled: approval.enabled,
      mode: approval.mode,
      allowlist: approval.allowlist,
      denylist: denylistOf(approval),
      promptSideEffects: approval.prompt_side_effects,
    },
    limits: {
      maxToolCallsPerBatch: loop.max_tool_calls_per_batch,
      maxToolIterationsPerUserTurn: loop.max_tool_iterations_per_user_turn,
      maxToolArgsBytes: loop.max_tool_args_bytes,
      maxOutputBytes: loop.output.max_bytes,
    },
    window,
    defaultTimeoutMs: Math.round(loop.timeouts.default_seconds * SECOND_MS),
    ...(loop.instructions !== undefined && { system: loop.instructions }),
  };
}

const RUN_COMMAND = "run_command";

/** Whoever names other tools has not thereby opened the shell: that takes a word of its own (NFR-SEC-06). */
function denylistOf({ allowlist, denylist }: LoadedConfig["loop"]["approval"]): string[] {
  const isOpened = denylist.length === 0 || allowlist.includes(RUN_COMMAND);
  return isOpened ? [...denylist] : [...new Set([...denylist, RUN_COMMAND])];
}

/** The configuration with room for the arguments that the loop lets through: its limits count, not one behind them. */
export function withRoomForArguments(config: LoadedConfig): LoadedConfig {
  const { loop, limits } = config;
  const patches = patchArgumentBytes(loop.apply_patch.max_patch_bytes);
  const inputBytes = Math.max(limits.inputBytes, loop.max_tool_args_bytes, patches);
  return Object.freeze({ ...config, limits: Object.freeze({ ...limits, inputBytes }) });
}

/** The limits of the built-in tools. */
export function builtinLimitsOf({ loop }: Pick<LoadedConfig, "loop">): GivenLimits {
  const { list_directory: list, timeouts } = loop;
  return {
    maxFileReadBytes: loop.read_file.max_file_read_bytes,
    maxScanBytes: loop.read_file.max_scan_bytes,
    maxPatchBytes: loop.apply_patch.max_patch_bytes,
    fileTimeoutMs: Math.round(timeouts.file_operations_seconds * SECOND_MS),
    shellTimeoutMs: Math.round(timeouts.shell_commands_seconds * SECOND_MS),
    list: {
      maxEntries: list.max_entries,
      maxDepth: list.max_depth,
      includeHidden: list.include_hidden_default,
      includeFiles: list.include_files_default,
      includeDirs: list.include_dirs_default,
      includeSymlinks: list.include_symlinks_default,
      includeOther: list.include_other_default,
    },
  };
}

/** How long conversations and their output stay. */
export function retentionOf({ loop }: Pick<LoadedConfig, "loop">): Retention {
  return { conversationDays: loop.keep_conversations_days, outputBytes: loop.keep_output_mb * MIB };
}
