import { expect, it } from "vitest";
import { busContract } from "../testing/bus-contract.ts";
import { MemoryBus, uuidV7 } from "./platform.ts";

busContract("the bus in memory", async () => ({
  buses: [new MemoryBus()],
  [Symbol.asyncDispose]: async () => undefined,
}));

it("ids of one moment are in the order they were made, also when the clock goes back", () => {
  let now = 1_767_225_600_000;
  const ids = uuidV7(() => now);
  const made = Array.from({ length: 10_000 }, (_, n) => {
    if (n % 1_000 === 0) now -= 1;
    return ids.next();
  });
  expect(made).toEqual([...new Set(made)].toSorted());
  for (const id of made)
    expect(id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
});
