import { failure, isFailure, SallyportError } from "@sallyport/protocol";
import { expect, it } from "vitest";
import { createMemoryStore } from "../memory/store.ts";
import type { Authority } from "../ports/authority.ts";
import type { Confinement, Runner, ToolHost } from "../ports/runner.ts";
import type { IsolationRules } from "../ports/sandbox.ts";
import type { Store } from "../ports/store.ts";
import type { FileStaging } from "../ports/workspace.ts";
import { errorOf, fixtureEngine, fixtureTool } from "../testing/fixture-engine.ts";
import { put } from "../testing/store-samples.ts";

const ISOLATION = { level: "LEVEL_2", runner: "fake" } as const;
const EFFECTS = { root: "/work", files: [], omitted: 0, diffsCut: false, digest: "f".repeat(64) };

/** A sandbox whose tool always makes the same change, and the workspaces that hold it. */
function sandboxed(change: (host: ToolHost) => Promise<void>) {
  const held = new Set<string>();
  const applied: string[] = [];
  const runs: string[] = [];
  const unused = () => Promise.reject(new Error("not part of this test"));
  const staging = (callId: string, name?: string) =>
    ({
      callId,
      root: "/work",
      effects: async () => EFFECTS,
      apply: async () => {
        applied.push(name ?? "run");
        return { ok: true, effects: EFFECTS };
      },
      keep: async () => void held.delete(name ?? ""),
      rollback: async () => ({ verified: true, hash: "", discarded: 1, left: [] }),
      hold: async (as: string) => void held.add(as),
    }) as Partial<FileStaging> as FileStaging;
  const runner: Runner = {
    kind: "sandboxed",
    isolation: ISOLATION,
    isSandboxed: true,
    prepare: ({ callId }) => ({
      confinement: { level: "LEVEL_2", egress: [], mounts: [] } as Partial<Confinement> as Confinement,
      staging: staging(callId),
    }),
    run: async ({ facts, host }) => {
      runs.push(facts.callId);
      await change(host);
      return { ok: true, output: runs.length, usage: { cpuMs: 0, memoryPeakBytes: 0 } };
    },
    close: async () => undefined,
  };
  const isolation: IsolationRules = {
    sandbox: { isolationFor: async () => ISOLATION, start: unused, offers: async () => [], close: unused },
    workspaces: {
      id: "folder",
      begin: ({ callId }) => staging(callId),
      resumeHeld: async (name, callId) => (held.has(name) ? staging(callId, name) : undefined),
      dropHeld: async (name) => void held.delete(name),
      recover: async () => [],
      undo: unused,
      expire: unused,
    },
    ...{ root: "/", hidden: [], denied: [], weaker: [], credentials: {}, privateHosts: [], maxCopyBytes: 0 },
  };
  return { held, applied, runs, options: { isolation, runners: [runner] } };
}

/** A previewed call, as its person is asked about it. */
async function previewed(
  store: Store = createMemoryStore(),
  change: (host: ToolHost) => Promise<void> = async () => undefined,
) {
  const world = sandboxed(change);
  const policy = { outcome: "ask" as "ask" | "allow" };
  const rest = { reason: "r", rules: ["r"], missing: [], policyVersion: "1" };
  const capabilities = ["state.read", "state.write"];
  const authority: Authority = { decide: () => ({ ...policy, ...rest, capabilities, preview: true }) };
  const { engine, call } = await fixtureEngine({ ...world.options, authority, store });
  const conduct = { sideEffects: "state", requiredCapabilities: capabilities };
  const { manifest } = fixtureTool({ run: () => null, conduct });
  const added = await engine.tools.register(manifest, { implementation: { kind: "sandboxed" } });
  if (isFailure(added)) throw new SallyportError(added);
  const asked = await call("tool", {}, { callId: "one" });
  const approvalId = asked.approval?.approvalId ?? "";
  return { ...world, engine, policy, approvalId };
}

it("commits the changes that were shown, without running the tool again", async () => {
  const { engine, approvalId, runs, applied, held } = await previewed();
  expect(await engine.approvals.get(approvalId)).toMatchObject({ effects: EFFECTS });
  expect(await engine.approvals.edit(approvalId, { by: "ada", input: 1 })).toMatchObject({ code: "E3222" });
  await engine.approvals.approve(approvalId, { by: "ada" });
  expect(await engine.resume("one")).toMatchObject({ status: "success", result: 1, effects: EFFECTS });
  expect({ runs, applied, held: [...held] }).toEqual({ runs: ["one"], applied: ["one.1"], held: [] });
});

it("ends in a conflict when a key that the shown changes replace was deleted meanwhile [R1-4.3]", async () => {
  const store = createMemoryStore();
  const scope = { tenant: "acme", tool: "tool" };
  await put(store, scope, { n: 1 });
  const { engine, approvalId } = await previewed(store, (host) => host.put("n", 2));
  await put(store, scope, { n: undefined });
  await engine.approvals.approve(approvalId, { by: "ada" });
  const answer = await engine.resume("one");
  if (isFailure(answer)) throw new SallyportError(answer);
  expect(errorOf(answer).code).toBe("E3704");
  const now = await store.state.open(scope);
  expect(await store.state.get(now, "n")).toBeUndefined();
  expect(answer.rollback).toMatchObject({ verified: true });
});

it("ends the call when the changes that were shown are gone: it runs nothing instead of them", async () => {
  const { engine, approvalId, runs, applied, held } = await previewed();
  await engine.approvals.approve(approvalId, { by: "ada" });
  held.clear();
  const answer = await engine.resume("one");
  if (isFailure(answer)) throw new SallyportError(answer);
  expect(errorOf(answer).code).toBe("E3216");
  expect((await engine.approvals.get(approvalId))?.standing.state).toBe("void");
  expect(await engine.resume("one")).toMatchObject({ error: { code: "E3216" }, replayed: true });
  expect({ runs, applied }).toEqual({ runs: ["one"], applied: [] });
});

it("keeps the changes while the call could not begin without a question, and drops them once it has", async () => {
  const memory = createMemoryStore();
  let down = false;
  const store: Store = {
    ...memory,
    commit: async (unit) => {
      if (down && unit.begin) throw new SallyportError(failure("E3914"));
      return await memory.commit(unit);
    },
  };
  const { engine, approvalId, policy, runs, held } = await previewed(store);
  policy.outcome = "allow";
  down = true;
  expect(await engine.resume("one")).toMatchObject({ error: { code: "E3908" } });
  expect([...held]).toEqual(["one.1"]);
  expect((await engine.approvals.get(approvalId))?.standing.state).toBe("pending");
  down = false;
  expect(await engine.resume("one")).toMatchObject({ status: "success", result: 2 });
  expect({ runs, held: [...held] }).toEqual({ runs: ["one", "one"], held: [] });
});
