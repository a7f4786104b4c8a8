import { describe, expect, it } from "vitest";
import type { ToolContext } from "../ports/runner.ts";
import { auditOf, type FixtureTool, fixtureEngine, fixtureTool } from "../testing/fixture-engine.ts";

const DETERMINISTIC = { deterministic: true };
const STATEFUL = {
  ...DETERMINISTIC,
  sideEffects: "state",
  requiredCapabilities: ["state.read", "state.write"],
};

let runs = 0;
const other = () => ++runs;
const count = async (_: unknown, { state }: ToolContext) => {
  const next = Number((await state.get("n")) ?? 0) + 1;
  await state.put("n", next);
  return next;
};
const listing = async (_: unknown, { state }: ToolContext) => {
  await state.keys("");
  return other();
};
const members = () => (other() % 2 === 0 ? { a: 1, b: 2 } : { b: 2, a: 1 });

describe("outputs of deterministic tools [R1-4.1]", () => {
  it("that differ for equal input and state are counted, reported and on record; the call succeeds", async () => {
    const { call, store, meter, errors, engine } = await fixtureEngine({}, [
      { id: "tool", run: other, conduct: DETERMINISTIC },
    ]);
    expect(await call("tool", { a: 1 })).toMatchObject({ status: "success", warnings: [] });
    expect(await call("tool", { a: 1 })).toMatchObject({ status: "success", warnings: [{ code: "E3511" }] });
    engine.flush();
    expect(meter.total("tool_output_differences_total", { tool_id: "tool" })).toBe(1);
    expect(errors.reports).toMatchObject([{ code: "E3511", tool: "tool" }]);
    expect((await auditOf(store)).at(-1)).toMatchObject({
      state: "COMPLETED",
      note: expect.stringContaining("E3511"),
    });
    await engine.close();
  });

  it.each<[string, FixtureTool, unknown[]]>([
    ["a tool that declares nothing", { run: other }, [{}, {}]],
    ["other input", { run: other, conduct: DETERMINISTIC }, [{ a: 1 }, { a: 2 }]],
    ["other state", { run: count, conduct: STATEFUL }, [{}, {}]],
    ["listed keys", { run: listing, conduct: STATEFUL }, [{}, {}]],
    ["another order of members", { run: members, conduct: DETERMINISTIC }, [{}, {}]],
  ])("are not compared, or equal, for %s", async (_, tool, inputs) => {
    const { call, engine } = await fixtureEngine({}, [tool]);
    for (const input of inputs) {
      expect(await call("tool", input)).toMatchObject({ status: "success", warnings: [] });
    }
    await engine.close();
  });

  it("are not compared with those of code that was replaced", async () => {
    const { call, engine } = await fixtureEngine({}, [{ run: () => 1, conduct: DETERMINISTIC }]);
    await call("tool", {});
    const { manifest, implementation } = fixtureTool({ run: () => 2, conduct: DETERMINISTIC });
    await engine.tools.register(manifest, { implementation, onDuplicate: "replace" });
    expect(await call("tool", {})).toMatchObject({ result: 2, warnings: [] });
    await engine.close();
  });
});
