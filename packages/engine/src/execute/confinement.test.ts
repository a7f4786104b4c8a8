import { completeManifest, failure, isFailure } from "@sallyport/protocol";
import { describe, expect, it } from "vitest";
import { createMemoryStore } from "../memory/store.ts";
import type { Implementation, Runner } from "../ports/runner.ts";
import { fixtureEngine, fixtureTool } from "../testing/fixture-engine.ts";
import { absolutePermissions, permittedFolders } from "./confinement.ts";
import { NO_USAGE } from "./runners/outcome-latch.ts";

const ROOT = "/srv/project";

describe("the folders of a tool's permissions", () => {
  it("start at the root unless they are absolute", () => {
    const folders = permittedFolders(
      {
        filesystem: [
          { path: ".", mode: "rw" },
          { path: "docs", mode: "ro" },
          { path: "/usr/share/dict", mode: "ro" },
        ],
      },
      ROOT,
    );
    expect(folders).toEqual({ writable: ROOT, readable: [`${ROOT}/docs`, "/usr/share/dict"] });
  });

  it.each(["../other", "~/x", "a\\b", "file:///etc", ""])(
    "refuse %j, which leads nowhere [L3-EXE-1]",
    (path) => {
      const folders = permittedFolders({ filesystem: [{ path, mode: "ro" }] }, ROOT);
      expect(isFailure(folders) && folders.code).toBe("E3105");
    },
  );

  it("name one folder to write in at most, because a call is one transaction over one tree", () => {
    const two = permittedFolders(
      {
        filesystem: [
          { path: "a", mode: "rw" },
          { path: "b", mode: "rw" },
        ],
      },
      ROOT,
    );
    expect(isFailure(two) && two.code).toBe("E3105");
  });

  it("are compared with an agent's as absolute paths", () => {
    const permissions = { filesystem: [{ path: "a", mode: "rw" as const }], network: [], credentials: [] };
    expect(absolutePermissions(permissions, ROOT).filesystem).toEqual([{ path: `${ROOT}/a`, mode: "rw" }]);
    expect(absolutePermissions(permissions, undefined)).toBe(permissions);
  });
});

describe("a runner of a kind that the engine does not know", () => {
  const transport = { type: "remote", baseUrl: "https://worker.test", endpoint: "/run" };
  const remote = (url: unknown): Implementation => ({ kind: "remote", url });
  const retired: string[] = [];
  const runner: Runner = {
    kind: "remote",
    isolation: { level: "LEVEL_1", runner: "remote" },
    bind: ({ transport: to }) => {
      if (to?.type !== "remote") return undefined;
      if (to.baseUrl?.startsWith("https:")) return remote(to.baseUrl);
      return failure("E3002", { message: "transport.baseUrl must be https" });
    },
    prepare: ({ dryRun }) => (dryRun ? failure("E3101", { message: "not here" }) : {}),
    run: async ({ implementation }) => ({ ok: true, output: String(implementation.url), usage: NO_USAGE }),
    retire: async (tool) => void retired.push(tool),
    close: async () => undefined,
  };
  const tool = (to: object) => fixtureTool({ run: () => null, conduct: { transport: to } }).manifest;

  it("runs its tools, prepares their calls, and finds their binding again after a restart", async () => {
    const store = createMemoryStore();
    const before = await fixtureEngine({ store, runners: [runner] });
    await before.engine.tools.register(tool(transport));
    expect(await before.call("tool", {})).toMatchObject({ result: "https://worker.test" });
    const implementation = remote("https://second.test");
    await before.engine.tools.register(tool(transport), { implementation, onDuplicate: "replace" });
    expect(await before.call("tool", {})).toMatchObject({ result: "https://second.test" });
    expect(retired).toEqual(["tool"]);
    expect(await before.call("tool", {}, { dryRun: true })).toMatchObject({ error: { message: "not here" } });
    await before.engine.close();
    const after = await fixtureEngine({ store, runners: [runner] });
    const answer = await after.call("tool", {});
    expect(answer).toMatchObject({ result: "https://worker.test", isolation: { runner: "remote" } });
    await after.engine.close();
  });

  it("refuses a manifest that it cannot read", async () => {
    const { engine } = await fixtureEngine({ runners: [runner] });
    const refused = await engine.tools.register(tool({ ...transport, baseUrl: "http://worker.test" }));
    expect(refused).toMatchObject({ message: "transport.baseUrl must be https" });
    expect(engine.tools.list()).toEqual([]);
    await engine.close();
  });

  it("is refused where there is none (E3101)", async () => {
    const { engine, call } = await fixtureEngine();
    const { manifest } = fixtureTool({ run: () => null });
    await engine.tools.register(manifest, { implementation: remote("x") });
    expect(await call("tool", {})).toMatchObject({ error: { code: "E3101" } });
    await engine.close();
  });

  it("runs nothing of this process where only given runners are allowed [D-9] [AX-INV-1]", async () => {
    const ran: string[] = [];
    const run = () => void ran.push("function");
    const summary = () => {
      ran.push("summary");
      return "a line";
    };
    const store = createMemoryStore();
    const { engine, call } = await fixtureEngine({ store, runners: [runner], onlyGivenRunners: true });
    const manifest = completeManifest({
      ...{ id: "tool", version: "1.0.0", name: "tool", description: "a tool", requiresApproval: true },
      operations: { run: { description: "runs", inputSchema: {} } },
    });
    const thread = { kind: "thread", moduleUrl: "data:text/javascript,throw 1" };
    for (const implementation of [
      { kind: "inline", operations: { run }, summaries: { run: summary } },
      thread,
    ]) {
      const refused = { code: "E3101", message: expect.stringMatching(/no runner/) };
      expect(await engine.tools.register(manifest, { implementation })).toMatchObject(refused);
      expect(await engine.tools.exchange({ load: [{ manifest, implementation }], unload: [] })).toMatchObject(
        [refused],
      );
    }
    await engine.tools.register(manifest);
    expect(await call("tool", {})).toMatchObject({ error: { code: "E3920" } });
    await engine.tools.register({ ...tool(transport), id: "far" });
    expect(await call("far", {})).toMatchObject({ status: "success" });
    expect(ran).toEqual([]);
    await engine.close();
  });
});
