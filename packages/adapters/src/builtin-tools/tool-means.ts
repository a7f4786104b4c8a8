import { realpathSync } from "node:fs";
import type { ToolContext } from "@sallyport/engine/tool";
import type { OutputBudgetOf, ReadLedger } from "@sallyport/loop";
import type { PathSandbox } from "../path-sandbox/index.ts";
import { type OffLimitsTest, offLimits } from "./off-limits.ts";
import { type BuiltinLimits, type BuiltinOptions, DEFAULT_BUILTIN_LIMITS } from "./options.ts";

/** What every built-in tool has at hand. */
export interface ToolMeans {
  readonly sandbox: PathSandbox;
  readonly reads: ReadLedger;
  readonly outputBudgets: OutputBudgetOf;
  /** The workspace, canonical. */
  readonly root: string;
  readonly limits: BuiltinLimits;
  /** Says which of its paths are the house's own. */
  readonly offLimits: OffLimitsTest;
  now(): number;
}

/** Throws a system's error when the workspace is not there. */
export function toolMeans(options: BuiltinOptions): ToolMeans {
  const { sandbox, reads, outputBudgets, limits, clock } = options;
  const { list, ...rest } = limits ?? {};
  // What the sandbox gives is canonical, and can only be compared with what is.
  const root = realpathSync(options.root);
  return {
    sandbox,
    reads,
    outputBudgets,
    root,
    offLimits: offLimits(root, options),
    limits: { ...DEFAULT_BUILTIN_LIMITS, ...rest, list: { ...DEFAULT_BUILTIN_LIMITS.list, ...list } },
    now: () => clock?.now() ?? Date.now(),
  };
}

/** What a call's reads are kept under: its conversation, or whoever calls where there is none. */
export function conversationOf({ session, tenant, agent }: ToolContext): string {
  return session ?? `without conversation ${JSON.stringify([tenant, agent])}`;
}
