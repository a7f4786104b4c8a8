import { pathToFileURL } from "node:url";
import {
  createEngine,
  createMemoryStore,
  type DefinedTool,
  type Engine,
  type EngineOptions,
} from "@sallyport/engine";
import type { Implementation, Sandbox } from "@sallyport/engine/ports";
import { type Failure, isFailure, SallyportError, type ToolManifest } from "@sallyport/protocol";
import type { LoadedConfig } from "../config/load.ts";
import { readConfiguredDomain } from "../gateway/gateway.ts";
import { configuredModules, type ModuleRunner } from "../tools/configured-modules.ts";
import { loadModule } from "../tools/load-module.ts";
import { ScriptModules } from "../tools/script-modules.ts";

/** What a version must pass to be registered. A gateway has one version at a time, and may go back to any. */
export function registryRulesOf({
  limits,
  schemas,
  domain,
}: LoadedConfig): NonNullable<EngineOptions["registry"]> {
  const maxVersions = domain === undefined ? limits.versionsPerTool : Number.MAX_SAFE_INTEGER;
  return { maxVersions, requireQuality: schemas.requireQuality };
}

/**
 * Registers the tools of the configuration's modules, and gives those added by the command line their code. One that
 * cannot be had does not keep the others away: it is named in the result, and a call to it says so. With `keep: false`
 * only this process knows, so that a reader can do it while another process owns the folder.
 */
export async function registerTools(
  engine: Engine,
  config: LoadedConfig,
  { keep, sandbox }: { keep: boolean; sandbox?: Sandbox },
): Promise<Failure[]> {
  const domain = readConfiguredDomain(config);
  if (domain && isFailure(domain)) return [domain];
  if (domain) return await registerManifests(engine, domain.tools, keep);
  const scripts = new ScriptModules(config, { keep, sandbox });
  const configured = await registerConfigured(engine, config, { keep, scripts });
  const problems = [...configured.values()].flat();
  // A module of the configuration whose manifest was not read must not be loaded in another way.
  for (const path of engine.tools.modulesWithoutCode().filter((module) => !configured.has(module))) {
    problems.push(...(await registerModule(engine, path, { runner: "thread", keep, scripts })));
  }
  return problems;
}

/** What is wrong with each module of the configuration, by its path. */
async function registerConfigured(
  engine: Engine,
  config: LoadedConfig,
  { keep, scripts }: Omit<Registering, "runner">,
): Promise<Map<string, Failure[]>> {
  const problems = new Map<string, Failure[]>();
  try {
    for (const [path, runner] of configuredModules(config)) {
      problems.set(path, await registerModule(engine, path, { runner, keep, scripts }));
    }
  } finally {
    await scripts.close();
  }
  return problems;
}

/** What a start would say about each module, by its path; nothing is kept. */
export async function moduleProblems(config: LoadedConfig): Promise<Map<string, Failure[]>> {
  const engine = await createEngine({ store: createMemoryStore(), registry: registryRulesOf(config) });
  try {
    const scripts = new ScriptModules(config, { keep: false });
    return await registerConfigured(engine, config, { keep: false, scripts });
  } finally {
    await engine.close();
  }
}

/** What a gateway would run, for those who only look: workers are reached by the runtime of a gateway alone. */
async function registerManifests(
  engine: Engine,
  manifests: readonly ToolManifest[],
  keep: boolean,
): Promise<Failure[]> {
  const registered = await Promise.all(manifests.map((one) => engine.tools.register(one, { keep })));
  return registered.filter(isFailure);
}

interface Registering {
  runner: ModuleRunner;
  keep: boolean;
  scripts: ScriptModules;
}

async function registerModule(
  engine: Engine,
  path: string,
  { runner, keep, scripts }: Registering,
): Promise<Failure[]> {
  const loaded = await (runner === "script" ? scripts.read(path) : loadModule(path).catch(failureOf));
  if (isFailure(loaded)) return [loaded];
  const moduleUrl = pathToFileURL(path).href;
  const problems: Failure[] = [];
  for (const tool of loaded.tools) {
    const implementation = implementationOf(tool, { runner, moduleUrl });
    const registered = await engine.tools.register(tool.manifest, { implementation, keep });
    if (isFailure(registered)) problems.push(registered);
  }
  return problems;
}

/** How a tool's code is reached; one made of commands always runs in processes. */
export function implementationOf(
  tool: Pick<DefinedTool, "programs"> & Partial<DefinedTool>,
  { runner, moduleUrl }: { runner: ModuleRunner; moduleUrl: string },
): Implementation {
  const { operations = {}, summaries = {}, programs } = tool;
  if (Object.keys(programs).length > 0) return { kind: "process", programs };
  return runner === "inline" ? { kind: "inline", operations, summaries } : { kind: runner, moduleUrl };
}

function failureOf(error: unknown): Failure {
  if (error instanceof SallyportError) return error.failure;
  throw error;
}
