import { resolve } from "node:path";
import type { LoadedConfig } from "../config/load.ts";

/** How a module of the configuration runs. */
export type ModuleRunner = "thread" | "inline" | "script";

/** The modules that the configuration names, by their paths. */
export function configuredModules({ tools, folder }: LoadedConfig): Map<string, ModuleRunner> {
  const entries = tools.map((entry) =>
    typeof entry === "string" ? { module: entry, runner: "thread" as const } : entry,
  );
  return new Map(entries.map(({ module, runner }) => [resolve(folder, module), runner]));
}
