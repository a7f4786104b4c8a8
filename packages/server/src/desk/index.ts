export type { EngineAccess } from "./engine-access.ts";
export { type OpenDesk, openDesk } from "./open-desk.ts";
export { reachDesk } from "./reach-desk.ts";
