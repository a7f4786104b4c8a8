import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openSqliteStore } from "@sallyport/adapters/sqlite";
import { afterEach, beforeEach, expect, it } from "vitest";
import { CallbackRig } from "./fixtures/callback-rig.ts";
import { answering, Receiver } from "./fixtures/receiver.ts";

const WAIT = { timeout: 30_000, interval: 10 };
let folder = "";
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "sallyport-callbacks-"));
});
afterEach(() => rmSync(folder, { recursive: true }));

it("a callback outlives the process: the next one over the same folder delivers it under the same id", async () => {
  await using receiver = await Receiver.start((res, nth) => answering(nth === 1 ? 500 : 204)(res));
  let callId = "";
  {
    await using rig = new CallbackRig(await openSqliteStore({ folder }));
    callId = await rig.ended(receiver.url);
    rig.start({ waitsMs: [100] });
    await expect.poll(async () => (await rig.of(callId))?.problem, WAIT).toContain("500");
  }
  await using rig = new CallbackRig(await openSqliteStore({ folder }));
  rig.start();
  await expect.poll(() => rig.stateOf(callId), WAIT).toBe("delivered");
  expect(receiver.counts()[callId]).toBeGreaterThanOrEqual(2);
  expect(receiver.told.at(-1)?.body).toMatchObject({ invocation_id: callId, status: "success" });
});
