import { createMemoryStore } from "@sallyport/engine";
import { expect, it } from "vitest";
import { TestClock } from "./fixtures/callback-rig.ts";
import { NoticeClaims } from "./notice-claims.ts";

const MINUTE_MS = 60_000;

it("a notice has one teller at a time, the next one when that is gone, and none once it is over", async () => {
  const [store, clock] = [createMemoryStore(), new TestClock()];
  const [one, other] = [new NoticeClaims(store, clock), new NoticeClaims(store, clock)];
  const expiresAt = Date.now() + 60 * MINUTE_MS;
  const turns = await Promise.all([one, other, one].map((claims) => claims.take("n", expiresAt)));
  expect(turns.map(({ kind }) => kind).toSorted()).toEqual(["later", "later", "ours"]);
  clock.forward(MINUTE_MS);
  expect(await other.take("n", expiresAt)).toEqual({ kind: "ours", tries: 2 });
  const at = clock.now() + 1_000;
  await other.retryAt("n", { tries: 2, at, expiresAt });
  expect(await one.take("n", expiresAt)).toEqual({ kind: "later", at });
  clock.forward(MINUTE_MS);
  expect(await one.take("n", expiresAt)).toEqual({ kind: "ours", tries: 3 });
  await one.end("n", expiresAt);
  clock.forward(MINUTE_MS);
  expect(await other.take("n", expiresAt)).toEqual({ kind: "over" });
});
