export { main } from "./cli/main.ts";
export { type LoadedConfig, loadConfig } from "./config/load.ts";
export { openRuntime, type Runtime } from "./runtime/runtime.ts";
