import { expect, it } from "vitest";
import { Slots } from "./slots.ts";

it("places are limited in all and for each host, and come back", () => {
  const slots = new Slots({ most: 3, perHost: 2 });
  expect(["a", "a", "a", "b", "c"].map((host) => slots.take(host))).toEqual([true, true, false, true, false]);
  expect(slots.isFull).toBe(true);
  slots.free("a");
  expect([slots.isFull, slots.take("a"), slots.take("c")]).toEqual([false, true, false]);
  for (const host of ["a", "a", "b"]) slots.free(host);
  expect(["c", "c", "d", "d"].map((host) => slots.take(host))).toEqual([true, true, true, false]);
});
