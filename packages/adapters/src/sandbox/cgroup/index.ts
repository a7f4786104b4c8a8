export { type Cgroups, openCgroups, type RunGroup, type RunGroupOrder } from "./cgroups.ts";
export type { CgroupLayout, Controller } from "./layout.ts";
export type { GroupReadings } from "./readings.ts";
export type { GroupLimits } from "./settings.ts";
