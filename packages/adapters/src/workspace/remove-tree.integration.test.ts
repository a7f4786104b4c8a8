import { execFile, execFileSync } from "node:child_process";
import { existsSync } from "node:fs";
import { chmod, chown, mkdir, mkdtemp, readdir, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { openWorkspaces } from "./index.ts";
import { removeTree } from "./remove-tree.ts";
import { inCopy, inOverlay } from "./testing/view-workers.ts";
import { inRoom } from "./testing/workspace-room.ts";

const NOBODY = 65_534;
/** Sixty names of 100 bytes: longer than any path may be. */
const DEEP =
  'name=$(printf %0100d 0); i=0; while [ $i -lt 60 ]; do mkdir "$name"; cd -P "./$name"; i=$((i+1)); done';

let base = "";
beforeEach(async () => {
  base = await mkdtemp(join(tmpdir(), "sallyport-remove-"));
  await chmod(base, 0o755);
});
afterEach(() => removeTree(base));

function deepIn(folder: string): void {
  execFileSync("/bin/bash", ["-c", `${DEEP}; echo x > bottom`], { cwd: folder });
}

describe("removing a tree", () => {
  it("takes paths that no system call takes, closed folders and links as such", async () => {
    const [tree, outside] = [join(base, "tree"), join(base, "outside")];
    await Promise.all([mkdir(tree), writeFile(outside, "stays")]);
    deepIn(tree);
    await symlink(outside, join(tree, "link"));
    await mkdir(join(tree, "closed", "in"), { recursive: true });
    await chmod(join(tree, "closed", "in"), 0);
    await chmod(join(tree, "closed"), 0);
    await removeTree(tree);
    expect(await readdir(base)).toEqual(["outside"]);
    await removeTree(tree);
  });

  it("does so for a user without rights, who has closed his own folders", async (context) => {
    if (process.getuid?.() !== 0) return context.skip("not root: the test above ran unprivileged");
    await chown(base, NOBODY, NOBODY);
    const script = `import { removeTree } from ${JSON.stringify(new URL("./remove-tree.ts", import.meta.url).href)};
      import { execFileSync } from "node:child_process";
      process.chdir(${JSON.stringify(base)});
      process.setgid(${NOBODY}); process.setuid(${NOBODY});
      execFileSync("/bin/bash", ["-c", ${JSON.stringify(`mkdir tree; cd tree; ${DEEP}; cd ..; chmod 000 *; cd ..; chmod 555 .`)}]);
      await removeTree(${JSON.stringify(join(base, "tree"))});`;
    await promisify(execFile)(process.execPath, ["--input-type=module", "-e", script]);
    expect(existsSync(join(base, "tree"))).toBe(false);
  });
});

describe.each([inOverlay, inCopy])(
  "a call that leaves paths longer than the system takes ($view)",
  (worker) => {
    it("is refused, its staging is gone, and the next start is as any other", () =>
      inRoom(worker, [], async ({ begin, reopen, leftovers, root }) => {
        const call = begin();
        const view = await call.view();
        deepIn(view.kind === "overlay" ? view.upper : view.copy);
        await expect(call.effects()).rejects.toMatchObject({
          failure: { code: expect.stringMatching(/^E3/) },
        });
        expect(await call.rollback()).toMatchObject({ verified: true });
        expect(await leftovers()).toEqual([]);
        expect(await readdir(root)).toEqual([]);
        expect(await (await reopen()).recover(async () => false)).toEqual([]);
      }));
  },
);

describe("a leftover that cannot be removed", () => {
  it("is reported, and stops no start", async (context) => {
    if (process.getuid?.() !== 0) return context.skip("only root can mount what cannot be removed");
    const folder = join(base, "state");
    await openWorkspaces({ folder });
    await mkdir(join(folder, "staging", "stuck"));
    execFileSync("mount", ["-t", "tmpfs", "none", join(folder, "staging", "stuck")]);
    const reported: string[] = [];
    try {
      const workspaces = await openWorkspaces({ folder, onLeftover: (path) => reported.push(path) });
      expect(await workspaces.recover(async () => false)).toEqual([]);
      expect(reported).toEqual([join(folder, "staging", "stuck")]);
    } finally {
      execFileSync("umount", [join(folder, "staging", "stuck")]);
    }
  });
});
