import { busContract } from "../testing/bus-contract.ts";
import { MemoryBus } from "./platform.ts";

busContract("the bus in memory", async () => ({
  buses: [new MemoryBus()],
  [Symbol.asyncDispose]: async () => undefined,
}));
