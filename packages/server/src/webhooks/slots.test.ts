import { expect, it } from "vitest";
import { Slots } from "./slots.ts";

it("places are limited in all and for each origin, and come back", () => {
  const slots = new Slots({ most: 3, perHost: 2 });
  const [first] = ["https://a/1", "HTTPS://A:443/2", "https://b/x"].map((url) => slots.take(url));
  expect([slots.isFull, slots.full]).toEqual([true, ["https://a/"]]);
  first?.();
  expect([slots.isFull, slots.full]).toEqual([false, []]);
});
