export type { HouseDesk } from "./house-desk.ts";
export { type OpenDesk, openDesk } from "./open-desk.ts";
export { reachDesk } from "./reach-desk.ts";
