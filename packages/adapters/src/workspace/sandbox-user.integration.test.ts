import { spawn } from "node:child_process";
import { chmod, chown, lchown, lstat, mkdir, mkdtemp, realpath, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { describe, expect, it } from "vitest";
import { findLauncher, superviseArgv } from "../sandbox/launcher/index.ts";
import { openWorkspaces } from "./index.ts";

const USER = { uid: 65_534, gid: 65_534 };
const OWNER = { uid: 12_345, gid: 12_346 };
const IS_ROOT = process.getuid?.() === 0;

if (!IS_ROOT) console.warn("skipped: workspaces of another owner: only root can have them");

/** A workspace that belongs to someone, with a file of root in it. */
async function inOwned(test: (places: { base: string; root: string }) => Promise<void>): Promise<void> {
  const base = await realpath(await mkdtemp(join(tmpdir(), "sallyport-owned-")));
  try {
    await chmod(base, 0o755);
    const root = join(base, "ws");
    await mkdir(root);
    await writeFile(join(root, "theirs.txt"), "theirs\n", { mode: 0o640 });
    await writeFile(join(root, "root.txt"), "root's\n", { mode: 0o644 });
    await chown(join(root, "theirs.txt"), OWNER.uid, OWNER.gid);
    await chown(root, OWNER.uid, OWNER.gid);
    await test({ base, root });
  } finally {
    await rm(base, { recursive: true });
  }
}

const ownerOf = async (path: string) => {
  const { uid, gid } = await lstat(path);
  return { uid, gid };
};

async function begun(view: "overlay" | "copy", { base, root }: { base: string; root: string }) {
  const workspaces = await openWorkspaces({ folder: join(base, "state"), view, sandboxUser: USER });
  const rules = { root, writable: true, denied: [] };
  return { workspaces, call: workspaces.begin({ callId: "c", rules, maxBytes: 1e6 }) };
}

describe.skipIf(!IS_ROOT)("a root host's sandbox user", () => {
  it("works in an overlay as the workspace's owner, and what it makes belongs to that owner", () =>
    inOwned(async ({ base, root }) => {
      const { workspaces, call } = await begun("overlay", { base, root });
      const view = await call.view();
      if (view.kind !== "overlay") throw new Error("an overlay was asked for");
      expect(await ownerOf(view.upper)).toEqual(USER);
      await runAsUser(view, [
        "echo more >> theirs.txt",
        "mkdir new && echo x > new/x && chmod 000 new/x",
        "ln -s x new/l",
        "! echo no >> root.txt",
      ]);
      expect(await ownerOf(join(view.upper, "new/x"))).toEqual(USER);
      expect(await call.apply()).toMatchObject({ ok: true });
      await call.keep();
      for (const path of ["theirs.txt", "new", "new/x", "new/l"])
        expect(await ownerOf(join(root, path)), path).toEqual(OWNER);
      expect((await lstat(join(root, "theirs.txt"))).mode & 0o777).toBe(0o640);
      expect((await lstat(join(root, "new/x"))).mode & 0o777).toBe(0);
      expect(await workspaces.undo("c")).toMatchObject({ ok: true });
      expect(await ownerOf(join(root, "theirs.txt"))).toEqual(OWNER);
    }));

  it("owns the copy of what is the owner's, and of nothing else", () =>
    inOwned(async ({ base, root }) => {
      const { call } = await begun("copy", { base, root });
      const view = await call.view();
      if (view.kind !== "copy") throw new Error("a copy was asked for");
      expect(await ownerOf(view.copy)).toEqual(USER);
      expect(await ownerOf(join(view.copy, "theirs.txt"))).toEqual(USER);
      expect(await ownerOf(join(view.copy, "root.txt"))).toEqual({ uid: 0, gid: 0 });
      await writeFile(join(view.copy, "new.txt"), "new");
      await lchown(join(view.copy, "new.txt"), USER.uid, USER.gid);
      await writeFile(join(view.copy, "root.txt"), "edited");
      const applied = await call.apply();
      if (!applied.ok) throw new Error(JSON.stringify(applied));
      expect(applied.effects.files.map(({ path }) => path)).toEqual(["new.txt", "root.txt"]);
      expect(await ownerOf(join(root, "new.txt"))).toEqual(OWNER);
      expect(await ownerOf(join(root, "root.txt"))).toEqual({ uid: 0, gid: 0 });
      await call.keep();
    }));
});

async function runAsUser(
  view: { root: string; upper: string; work: string },
  lines: string[],
): Promise<void> {
  const launcher = findLauncher();
  if (!("path" in launcher)) throw new Error(`${launcher.missing}; run ${launcher.fix}`);
  const base = dirname(view.root);
  const [target, script] = [join(base, "seen"), join(base, "script")];
  await mkdir(target);
  await writeFile(script, ["set -e", `cd ${target}`, ...lines].join("\n"));
  const overlay = { lower: view.root, upper: view.upper, work: view.work, target };
  const backend = ["/bin/sh", script];
  const argv = superviseArgv({ launcher: launcher.path, backend, overlay, user: USER, idmap: OWNER });
  const child = spawn(launcher.path, argv, { stdio: ["ignore", "ignore", "pipe", "pipe"] });
  const said: string[] = [];
  for (const stream of [child.stderr, child.stdio[3]])
    stream?.on("data", (chunk) => said.push(String(chunk)));
  await new Promise((resolve) => child.once("close", resolve));
  expect(said.join("")).toMatch(/"how":"backend-failed","code":0,/);
}
