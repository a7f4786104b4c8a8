import { resolve } from "node:path";
import { builtinTools } from "@sallyport/adapters/builtin-tools";
import { openPathSandbox } from "@sallyport/adapters/path-sandbox";
import { readOutputTool, type SpillFolder } from "@sallyport/adapters/spill";
import type { ConfiguredGrant, DefinedTool, Engine } from "@sallyport/engine";
import type { ReadLedger } from "@sallyport/loop";
import { type LoopTool, loopToolsOf, type OutputBudgets } from "@sallyport/loop";
import type { Environment } from "../config/environment.ts";
import type { LoadedConfig } from "../config/load.ts";
import { must } from "../must.ts";
import { deniedPatterns, hiddenPaths } from "../runtime/isolation.ts";
import { implementationOf } from "../runtime/tools.ts";
import { commonFolder } from "./common-folder.ts";
import { builtinLimitsOf } from "./loop-settings-of.ts";
import { secretVariables } from "./secret-variables.ts";

/** What the tools of a conversation are made of. */
export interface ChatToolParts {
  config: LoadedConfig;
  /** The folder of the conversation, absolute. */
  cwd: string;
  environment: Environment;
  reads: ReadLedger;
  outputBudgets: OutputBudgets;
  spill: SpillFolder;
}

interface Faced {
  tool: DefinedTool;
  loop: LoopTool;
}

/** The built-in tools for a folder, and the one that reads on in long output. Throws E3919 when a root is not there. */
export function chatTools({ config, cwd, environment, reads, outputBudgets, spill }: ChatToolParts): Faced[] {
  const { sandbox: given, environment: commands } = config.loop;
  const sandbox = openPathSandbox({
    roots: given.allowed_roots.map((root) => resolve(cwd, root)),
    deniedPatterns: given.denied_patterns,
    allowAbsolute: given.allow_absolute,
    includeDefaultDenies: given.include_default_denies,
  });
  const builtin = builtinTools({
    sandbox,
    reads,
    outputBudgets,
    root: commonFolder(sandbox.roots),
    denied: deniedPatterns(config),
    hidden: hiddenPaths(config),
    cwd: sandbox.cwd,
    limits: builtinLimitsOf(config),
    env: environment,
    environmentDenylist: [...commands.denylist, ...secretVariables(config)],
  });
  const faced = builtin.map(({ tool, loop, resultText }) => ({
    tool,
    loop: { ...loop, ...(resultText && { textOf: resultText }) },
  }));
  return [...faced, readOutputTool({ spill, outputBudgets })];
}

/** Whoever converses may use the tools of the conversation; whether a person is asked first is the policy's word. */
export function chatGrant(
  caller: { tenant: string; agent: string },
  tools: readonly Faced[],
): ConfiguredGrant {
  return {
    id: "this-conversation",
    tenants: [caller.tenant],
    agents: [caller.agent],
    tools: tools.map(({ tool }) => tool.manifest.id),
    operations: ["*"],
    capabilities: ["filesystem.read", "filesystem.write", "filesystem.delete"],
  };
}

/** Puts the tools on the engine's shelf for this process, and says what a model is offered: these and all others there. */
export async function shelveChatTools(engine: Engine, tools: readonly Faced[]): Promise<LoopTool[]> {
  for (const { tool } of tools) {
    const implementation = implementationOf(tool, { runner: "inline", moduleUrl: "" });
    must(await engine.tools.register(tool.manifest, { implementation, keep: false }));
  }
  return loopToolsOf(engine.tools, { customTools: tools.map(({ loop }) => loop) });
}
