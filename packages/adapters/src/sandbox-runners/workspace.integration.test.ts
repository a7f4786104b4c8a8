import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createProcessRunner, createScriptRunner, type FileStaging } from "@sallyport/engine";
import { afterAll, describe, expect, it } from "vitest";
import { DEFAULT_USER } from "../sandbox/index.ts";
import { openWorkspaces } from "../workspace/index.ts";
import { commandJob, createBounds, openSandboxedHouse, scriptJob } from "./fixtures/sandboxed-house.ts";
import { nodeRuntime } from "./node-runtime.ts";

const house = await openSandboxedHouse();
const folder = mkdtempSync(join(tmpdir(), "sallyport-ws-"));
chmodSync(folder, 0o755);
const root = join(folder, "project");
const isRoot = process.getuid?.() === 0;

describe.skipIf(!house)("a staged workspace", () => {
  if (!house) return;
  const { sandbox } = house;
  const commands = createProcessRunner({ sandbox });
  const scripts = createScriptRunner({ sandbox, ...nodeRuntime(), pool: {} });
  afterAll(async () => {
    await Promise.all([commands.close(), scripts.close()]);
    await house.close();
    rmSync(folder, { recursive: true });
  });

  async function begin(callId: string): Promise<FileStaging> {
    rmSync(root, { recursive: true, force: true });
    mkdirSync(root);
    writeFileSync(join(root, "old"), "as it was\n");
    if (isRoot) chmodSync(root, 0o777);
    const options = { folder: join(folder, "state"), ...(isRoot && { sandboxUser: DEFAULT_USER }) };
    const workspaces = await openWorkspaces(options);
    const rules = { root, writable: true, denied: [] };
    return workspaces.begin({ callId, rules, maxBytes: 10_000_000 });
  }

  it("is changed by a command in its view, and really only when applied [L3-EXE-2]", async () => {
    const staging = await begin("call-1");
    const command = ["sh", "-c", "echo new > added; rm old; cat added"];
    const result = await commands.run(
      commandJob({ command }, { confinement: createBounds({ staging, cwd: root }) }),
    );
    expect(result).toMatchObject({ ok: true, output: { stdout: "new\n", stderr: "" } });
    expect([existsSync(join(root, "added")), existsSync(join(root, "old"))]).toEqual([false, true]);
    expect(await staging.apply()).toMatchObject({ ok: true });
    await staging.keep();
    expect([existsSync(join(root, "added")), existsSync(join(root, "old"))]).toEqual([true, false]);
  });

  it("is seen by a script through its context and through node:fs alike, in a process of its own [L3-EXE-3]", async () => {
    const staging = await begin("call-2");
    const confinement = createBounds({ staging, cwd: root });
    const result = await scripts.run(scriptJob("editWorkspace", { confinement, input: { root } }));
    if (!result.ok) throw new Error(JSON.stringify(result.fault));
    expect(result.output).toMatchObject({
      seen: "with node:fs",
      list: [
        { name: "by-context", type: "file", bytes: 16 },
        { name: "by-fs", type: "file" },
        { name: "folder", type: "folder" },
      ],
      outside: expect.stringMatching(/E3105/),
    });
    expect(scripts.counts()).toEqual({ live: 0, ready: 0 });
    expect(readFileSync(join(root, "old"), "utf8")).toBe("as it was\n");
    expect(await staging.apply()).toMatchObject({ ok: true });
    await staging.keep();
    expect(readFileSync(join(root, "by-context"), "utf8")).toBe("with the context");
    expect(readFileSync(join(root, "folder", "new"), "utf8")).toBe("as it was\n");
  });
});
