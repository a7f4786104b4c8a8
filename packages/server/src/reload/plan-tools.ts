import { statSync } from "node:fs";
import { pathToFileURL } from "node:url";
import type { DefinedTool, ResolvedTool, Tools } from "@sallyport/engine";
import { isDefinedTool } from "@sallyport/engine/host";
import type { Implementation } from "@sallyport/engine/ports";
import { type Failure, isFailure, type ToolManifest } from "@sallyport/protocol";
import type { LoadedConfig } from "../config/load.ts";
import { configuredModules, type ModuleRunner } from "../tools/configured-modules.ts";
import { ScriptModules } from "../tools/script-modules.ts";
import type { KnownModule, LiveRuntime } from "./live-runtime.ts";
import { type FoundModule, type FoundTool, readModule, signatureOf } from "./read-module.ts";

/** A tool as it shall be reached. */
export interface PlannedTool {
  manifest: ToolManifest;
  implementation: Implementation;
}

export type ToolLookup = Pick<Tools, "list" | "resolve">;

/** How a version stands on the registered; undefined when it cannot be called whatever its code is. */
export function toolNow(
  { id, version, operations }: ToolManifest,
  registered: ToolLookup,
): ResolvedTool | undefined {
  const operation = Object.keys(operations)[0] ?? "";
  const found = registered.resolve({ tool: id, version, operation });
  return isFailure(found) ? undefined : found;
}

/** Everything that shall be callable, and where its code was found. */
export interface ToolPlan {
  tools: PlannedTool[];
  modules: Map<string, KnownModule>;
}

/** Reads every module that the configuration or the command line named. All of them, or everything that is wrong. */
export async function planTools(
  config: LoadedConfig,
  { live, registered }: { live: LiveRuntime; registered: ToolLookup },
): Promise<ToolPlan | Failure[]> {
  const plan: ToolPlan = { tools: [], modules: new Map() };
  const problems: Failure[] = [];
  const scripts = new ScriptModules(config, { keep: true, sandbox: live.sandbox });
  for (const [path, runner] of modulesOf(config, registered)) {
    const found = await (runner === "script" ? scripts.read(path) : readModule(path));
    if (isFailure(found)) {
      problems.push(found);
      continue;
    }
    const known = addressOf(path, found, live);
    plan.modules.set(path, known);
    plan.tools.push(...(await implemented(found.tools, { runner, url: known.url })));
  }
  return problems.length > 0 ? problems : plan;
}

/** As at the start: those of the configuration, then those that were added by the command line. */
function modulesOf(config: LoadedConfig, registered: ToolLookup): Map<string, ModuleRunner> {
  const modules = new Map<string, ModuleRunner>();
  for (const { module, manifest } of registered.list()) {
    if (module !== undefined && toolNow(manifest, registered)) modules.set(module, "thread");
  }
  return new Map([...modules, ...configuredModules(config)]);
}

/** Code that is as it was keeps its address, and so its threads; other code gets one that nobody has loaded yet. */
function addressOf(path: string, found: FoundModule, live: LiveRuntime): KnownModule {
  const signature = signatureOf(found);
  const before = live.modules.get(path);
  if (before?.signature === signature) return before;
  const plain = pathToFileURL(path).href;
  const isAsLoaded = !before && found.files.every((file) => !isNewer(file.path, live.openedAt));
  return { signature, url: isAsLoaded ? plain : `${plain}?v=${signature}` };
}

function isNewer(path: string, at: number): boolean {
  const stat = statSync(path, { throwIfNoEntry: false });
  return !stat || Math.max(stat.mtimeMs, stat.ctimeMs) > at;
}

async function implemented(
  tools: readonly FoundTool[],
  { runner, url }: { runner: ModuleRunner; url: string },
): Promise<PlannedTool[]> {
  const loaded = runner === "inline" ? await toolsAt(url) : [];
  return tools.map(({ manifest, programs }) => {
    if (Object.keys(programs).length > 0) return { manifest, implementation: { kind: "process", programs } };
    if (runner !== "inline") return { manifest, implementation: { kind: runner, moduleUrl: url } };
    const { id, version } = manifest;
    const tool = loaded.find((each) => each.manifest.id === id && each.manifest.version === version);
    const { operations = {}, summaries = {} } = tool ?? {};
    return { manifest, implementation: { kind: "inline", operations, summaries } };
  });
}

/** Into this process, for code that is trusted; that it loads at all is known by then. */
async function toolsAt(url: string): Promise<DefinedTool[]> {
  const exported: object = await import(url);
  return Object.values(exported).flat().filter(isDefinedTool);
}
