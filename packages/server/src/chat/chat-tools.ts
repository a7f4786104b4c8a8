import { resolve } from "node:path";
import { builtinTools } from "@sallyport/adapters/builtin-tools";
import { openPathSandbox } from "@sallyport/adapters/path-sandbox";
import { readOutputTool, type SpillFolder } from "@sallyport/adapters/spill";
import type { ConfiguredGrant, DefinedTool, Engine } from "@sallyport/engine";
import type { ReadLedger } from "@sallyport/loop";
import { type LoopTool, loopToolsOf, type OutputBudgets } from "@sallyport/loop";
import { failure, SallyportError } from "@sallyport/protocol";
import type { Environment } from "../config/environment.ts";
import type { LoadedConfig } from "../config/load.ts";
import { referencesIn } from "../config/secret-schema.ts";
import { must } from "../must.ts";
import { deniedPatterns, hiddenPaths } from "../runtime/isolation.ts";
import { implementationOf } from "../runtime/tools.ts";
import { builtinLimitsOf } from "./loop-settings-of.ts";

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

/** The deepest folder that holds all of these; absolute and canonical like they are. E3919 when that is the whole disk. */
export function commonFolder(folders: readonly string[]): string {
  const [first = [], ...others] = folders.map((folder) => folder.split("/"));
  let shared = first.length;
  for (const other of others) {
    const differs = first.findIndex((part, index) => other[index] !== part);
    shared = Math.min(shared, differs === -1 ? first.length : differs);
  }
  const common = first.slice(0, shared).join("/");
  if (common !== "") return common;
  throw new SallyportError(
    failure("E3919", {
      message: `The folders of loop.sandbox.allowed_roots have nothing in common: ${folders.join(", ")}.`,
      advice: "Changes of one call are one transaction over one folder; choose roots that lie in one.",
    }),
  );
}

/** Settings by variable can hold what is nobody else's business, such as a header or a password in an address. */
const OWN_SETTINGS = "SALLYPORT__*";

/**
 * The environment variables that belong to Sallyport alone: every one that the configuration says a secret is in,
 * wherever it says so, and its own settings. No command may inherit them (FR-EXE-06, CFG-ENV-01).
 */
export function secretVariables({ place: _place, ...settings }: LoadedConfig): string[] {
  return [OWN_SETTINGS, ...new Set(referencesIn(settings, "env"))];
}
