import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { tracesOf } from "../traces.ts";
import { clinging } from "./clinging.ts";
import { noSandbox } from "./no-sandbox.ts";
import { ServerFolder } from "./server-folder.ts";
import { Talk } from "./talk.ts";

const module = (name: string) => fileURLToPath(new URL(name, import.meta.url));
const SLOW = `{ module: ${module("./slow-tools.ts")}, runner: inline }`;
const STUBBORN = module("./stubborn-tools.ts");
const config = (...tools: string[]) => `
tools: [${tools.join(", ")}]
grants: [{ id: everything, tools: ["*"] }]
limits: { concurrentCallsPerAgent: 1 }
`;

describe("a server that is killed", () => {
  it("has on record what it said just before: accepted calls run, cancelled ones do not [L3-EXE-5]", async () => {
    await using server = await ServerFolder.make(config(SLOW));
    const life = await server.start();
    using talk = new Talk(server);
    const slow = (key: string, ms: number) => ({
      tool: "slow",
      input: { key, ms, witness: server.path("w") },
    });
    const running = await talk.accept(slow("running", 60_000));
    await talk.untilRunning(running);
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
    await server.start();
    for (const id of [...kept, String(last)]) {
      expect(await talk.untilEnded(id)).toMatchObject({ status: "success" });
    }
    for (const id of cancelled) expect(await talk.status(id)).toMatchObject({ status: "cancelled" });
    expect(await talk.status(running)).toMatchObject({
      status: "error",
      error: { details: { code: "E3909" } },
    });
  });

  it("gives accepted calls an outcome at the next start, also when their tool is gone [L3-EXE-5]", async () => {
    await using server = await ServerFolder.make(config(SLOW, STUBBORN));
    const life = await server.start();
    using talk = new Talk(server);
    const slow = { tool: "slow", input: { key: "k", ms: 60_000, witness: server.path("w") } };
    await talk.untilRunning(await talk.accept(slow));
    const queued = await talk.accept(slow);
    await life.kill();
    server.configure(config(STUBBORN));
    await server.start();
    const { status, error } = await talk.untilEnded(queued);
    expect([status, error?.details.code]).toEqual(["error", "E3920"]);
  });

  it("leaves no process of its tools behind [FR-EXE-05]", async ({ skip }) => {
    await using server = await ServerFolder.make(config(STUBBORN));
    const life = await server.start();
    if (life.isolation !== "LEVEL_2") skip(noSandbox());
    using talk = new Talk(server);
    talk.begin({ tool: "cling" });
    await clinging(server, life);
    const left = () => tracesOf(server.folder, life.pid).processes;
    await life.kill();
    await expect.poll(left, { timeout: 60_000 }).toEqual([]);
  });
});
