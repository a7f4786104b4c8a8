import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { HouseFolder } from "./house-folder.ts";
import { Talk } from "./talk.ts";

const SLOW = fileURLToPath(new URL("./slow-tools.ts", import.meta.url));
const CONFIG = `
tools: [{ module: ${SLOW}, runner: inline }]
grants: [{ id: everything, tools: [slow] }]
`;

describe("a server that is killed", () => {
  it("has on record what it said just before: accepted calls run, cancelled ones do not [L3-EXE-5]", async () => {
    await using house = await HouseFolder.make(CONFIG);
    const life = await house.start();
    using talk = new Talk(house);
    const slow = (key: string, ms: number) => ({
      tool: "slow",
      input: { key, ms, witness: house.path("w") },
    });
    const running = await Promise.all([1, 2, 3, 4].map((n) => talk.accept(slow(`running-${n}`, 60_000))));
    await Promise.all(running.map((id) => talk.untilRunning(id)));
    const queued = await Promise.all([1, 2, 3, 4, 5, 6].map((n) => talk.accept(slow(`queued-${n}`, 1))));
    const [cancelled, kept] = [queued.slice(0, 3), queued.slice(3)];
    const accepting = talk.accept(slow("last", 1));
    const said = await Promise.all([
      accepting,
      ...cancelled.map((id) => talk.cancel(id).then(({ body }) => body)),
    ]);
    await life.kill();
    const [last, ...cancellations] = said;
    expect(cancellations).toEqual(
      cancelled.map((id) =>
        expect.objectContaining({ invocation_id: id, cancelled: true, status: "cancelled" }),
      ),
    );
    await house.start();
    for (const id of [...kept, String(last)]) {
      expect(await talk.untilEnded(id)).toMatchObject({ status: "success" });
    }
    for (const id of cancelled) expect(await talk.status(id)).toMatchObject({ status: "cancelled" });
    for (const id of running)
      expect(await talk.status(id)).toMatchObject({ status: "error", error: { details: { code: "E3909" } } });
  });
});
