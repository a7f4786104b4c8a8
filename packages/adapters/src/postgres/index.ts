export { openPostgresBus, type PostgresBus, type PostgresBusOptions } from "./bus.ts";
