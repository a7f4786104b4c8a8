import { chmodSync, existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createProcessRunner } from "@sallyport/engine";
import type { FileStaging } from "@sallyport/engine/ports";
import { afterAll, describe, expect, it } from "vitest";
import { DEFAULT_USER } from "../sandbox/index.ts";
import { openWorkspaces } from "../workspace/index.ts";
import { commandJob, createBounds, openSandboxedHouse } from "./fixtures/sandboxed-house.ts";

const house = await openSandboxedHouse();
const folder = mkdtempSync(join(tmpdir(), "sallyport-ws-"));
chmodSync(folder, 0o755);
const root = join(folder, "project");
const isRoot = process.getuid?.() === 0;

describe.skipIf(!house)("a staged workspace", () => {
  if (!house) return;
  const { sandbox } = house;
  const commands = createProcessRunner({ sandbox });
  afterAll(async () => {
    await commands.close();
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
});
