import { mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, it } from "vitest";
import { inOpenFolder, makeView, type OpenSandbox, ran } from "./sandbox-fixture.ts";

/** A workspace is seen at its own path, can be written, and stays as it was. */
export function workspaceContract(open: OpenSandbox): void {
  it("through an overlay: writes do not reach the host [R1-7.2]", () =>
    inOpenFolder(async (folder) => {
      const workspace = await makeView(folder);
      await writeFile(join(workspace.root, "old"), "before", { mode: 0o600 });
      await mkdir(join(workspace.root, "gone"));
      const script = "cat old; echo after > old; echo new > new; rmdir gone; ls; pwd";
      const { stdout, stderr, end } = await ran(open(), script, { workspace, cwd: workspace.root });
      expect(stderr).toBe("");
      expect(end.ending).toEqual({ kind: "exited", code: 0 });
      expect(stdout).toBe(`beforenew\nold\n${workspace.root}\n`);
      expect(await readFile(join(workspace.root, "old"), "utf8")).toBe("before");
      expect((await readdir(workspace.root)).toSorted()).toEqual(["gone", "old"]);
      expect(await readFile(join(workspace.upper, "new"), "utf8")).toBe("new\n");
    }));

  it("through a copy: likewise [R1-7.2]", () =>
    inOpenFolder(async (folder) => {
      const view = { root: join(folder, "ws"), copy: join(folder, "copy") };
      for (const path of Object.values(view)) await mkdir(path);
      await writeFile(join(view.root, "old"), "before");
      await writeFile(join(view.copy, "old"), "before");
      const { stdout, stderr } = await ran(open(), "cat old; echo after > old; echo new > new; pwd", {
        workspace: { kind: "copy", ...view },
        cwd: view.root,
      });
      expect(stderr).toBe("");
      expect(stdout).toBe(`before${view.root}\n`);
      expect(await readdir(view.root)).toEqual(["old"]);
      expect(await readFile(join(view.copy, "old"), "utf8")).toBe("after\n");
    }));

  it("with what is hidden in it hidden", () =>
    inOpenFolder(async (folder) => {
      const workspace = await makeView(folder);
      await mkdir(join(workspace.root, ".git", "hooks"), { recursive: true });
      await writeFile(join(workspace.root, ".git", "hooks", "pre-commit"), "SECRET");
      const { stdout } = await ran(
        open(),
        "ls -A .git/hooks; ( : > .git/hooks/x ) 2>/dev/null && echo wrote; ls -A",
        {
          workspace,
          hidden: [join(workspace.root, ".git", "hooks")],
          cwd: workspace.root,
        },
      );
      expect(stdout).toBe(".git\n");
    }));
}
