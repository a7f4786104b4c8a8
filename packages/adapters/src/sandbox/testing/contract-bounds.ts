import { mkdir, readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { AgentBounds } from "@sallyport/engine/ports";
import { expect, it } from "vitest";
import { inOpenFolder, MIB, makeView, type OpenSandbox, ran, sampleOrder } from "./sandbox-fixture.ts";

const refusedWith = (code: string) => expect.objectContaining({ failure: expect.objectContaining({ code }) });

/** A tool has nothing its agent has not: checked before the start. */
export function boundsContract(open: OpenSandbox): void {
  const started = (bounds: Partial<AgentBounds>, changes: Parameters<typeof sampleOrder>[2] = {}) => {
    const { sandbox, ...fixture } = open();
    const whole: AgentBounds = { agent: "ada", limits: {}, ...bounds };
    return sandbox.start(sampleOrder(fixture, "true", { ...changes, bounds: whole }));
  };

  it("refuses a limit beyond the agent's with E3102 [L3-EXE-1]", async () => {
    await expect(started({ limits: { memoryBytes: MIB } })).rejects.toEqual(refusedWith("E3102"));
  });

  it("refuses a host beyond the agent's with E3104 [L3-EXE-1]", async () => {
    const changes = { egress: [{ host: "example.com" }] };
    await expect(started({ network: [] }, changes)).rejects.toEqual(refusedWith("E3104"));
  });

  it("refuses a path beyond the agent's with E3105, also through a link [L3-EXE-1]", () =>
    inOpenFolder(async (folder) => {
      await mkdir(join(folder, "mine"));
      await mkdir(join(folder, "theirs"));
      const filesystem = [{ path: join(folder, "mine"), mode: "rw" as const }];
      const mounts = [{ source: join(folder, "theirs"), target: "/m", mode: "ro" as const }];
      await expect(started({ filesystem }, { mounts })).rejects.toEqual(refusedWith("E3105"));
    }));

  it("refuses what cannot be mounted with E3105", () =>
    inOpenFolder(async (folder) => {
      for (const mount of [
        { source: join(folder, "absent"), target: "/m" },
        { source: folder, target: "/proc/x" },
        { source: folder, target: "/a/../etc" },
        { source: folder, target: "/" },
        { source: "relative", target: "/m" },
      ]) {
        const mounts = [{ ...mount, mode: "ro" as const }];
        await expect(started({}, { mounts }), JSON.stringify(mount)).rejects.toEqual(refusedWith("E3105"));
      }
      const mounts = [{ source: folder, target: "/m", mode: "ro" as const }];
      await expect(started({}, { mounts, hidden: [folder] })).rejects.toEqual(refusedWith("E3105"));
    }));
}

/** More than a handful, as policy files and files of secrets are hidden one by one. */
export function manyPathsContract(open: OpenSandbox): void {
  it("takes 40 mounts and 40 hidden paths", () =>
    inOpenFolder(async (folder) => {
      const names = Array.from({ length: 40 }, (_, index) => `${index}`);
      for (const name of names) {
        await mkdir(join(folder, "seen", name), { recursive: true });
        await writeFile(join(folder, `secret-${name}`), "SECRET");
        await mkdir(join(folder, "at", name), { recursive: true });
      }
      const mounts = names.map((name) => ({
        source: join(folder, "seen", name),
        target: join(folder, "at", name),
        mode: "ro" as const,
      }));
      const hidden = names.map((name) => join(folder, `secret-${name}`));
      const { stdout, end } = await ran(
        open(),
        `cat ${folder}/secret-* 2>/dev/null; ls -d ${folder}/at/* | wc -l`,
        {
          mounts,
          hidden,
        },
      );
      expect(end.ending).toEqual({ kind: "exited", code: 0 });
      expect(stdout).toBe("40\n");
    }));
}

/** And enforced by construction, where one sandbox can be inside another. */
export function nestedContract(open: OpenSandbox): void {
  it("runs within its agent's bounds [L3-EXE-1]", () =>
    inOpenFolder(async (folder) => {
      const workspace = await makeView(folder);
      await writeFile(join(workspace.root, "a"), "A");
      const bounds: AgentBounds = {
        agent: "ada",
        limits: { memoryBytes: 1024 * MIB, processes: 128 },
        filesystem: [{ path: workspace.root, mode: "rw" }],
      };
      const { stdout, stderr, end } = await ran(
        open(),
        "cat a; echo b > b; id -u; ls -d /proc/[0-9]* | wc -l",
        {
          workspace,
          bounds,
          cwd: workspace.root,
        },
      );
      expect(stderr).toBe("");
      expect(stdout).toMatch(/^A1000\n[1-7]\n$/);
      expect(end.ending).toEqual({ kind: "exited", code: 0 });
      expect(await readdir(workspace.root)).toEqual(["a"]);
    }));

  it("can only read where its agent can only read [L3-EXE-1]", () =>
    inOpenFolder(async (folder) => {
      const workspace = await makeView(folder);
      const bounds: AgentBounds = {
        agent: "ada",
        limits: {},
        filesystem: [{ path: workspace.root, mode: "ro" }],
      };
      const { stderr, end } = await ran(open(), "echo b > b", { workspace, bounds, cwd: workspace.root });
      expect(stderr).toContain("Read-only file system");
      expect(end.ending).toEqual({ kind: "exited", code: 2 });
    }));
}
