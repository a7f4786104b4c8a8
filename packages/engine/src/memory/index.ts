export { createMemoryStore, type MemoryStoreOptions } from "./store/memory-store.ts";
