export { MemoryMeter } from "./meter.ts";
export { MemoryBus, RecentErrors, systemClock, systemHost, uuidV7 } from "./platform.ts";
export { createMemoryStore, type MemoryStoreOptions } from "./store.ts";
