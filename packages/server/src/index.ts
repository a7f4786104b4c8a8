export { main } from "./cli/main.ts";
export { type OpenHouse, openHouse } from "./compose.ts";
export { type LoadedConfig, loadConfig } from "./config/load.ts";
