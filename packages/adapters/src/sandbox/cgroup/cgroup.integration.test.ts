import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { describe, expect, it } from "vitest";
import { ownMark } from "../host/process-mark.ts";
import { openCgroups } from "./cgroups.ts";

const MIB = 1024 * 1024;
const read = (folder: string | undefined, file: string) =>
  readFileSync(join(folder ?? "", file), "utf8").trim();

describe("cgroups of the kernel", () => {
  it("hold a run's limits below its agent's, and go with the last run [MCX-7]", async (context) => {
    const cgroups = await openCgroups();
    if (!cgroups) return context.skip("no cgroup of this host can be written");
    const agent = { name: "ada/../../x", limits: { memoryBytes: 64 * MIB } };
    const order = { limits: { memoryBytes: 32 * MIB, processes: 9 }, agent };
    const [first, second] = [await cgroups.makeRun(order), await cgroups.makeRun(order)];
    const memory = first.folders.find((path) => existsSync(join(path, "memory.limit_in_bytes")));
    if (cgroups.version === "v1") {
      expect(read(memory, "memory.limit_in_bytes")).toBe(String(32 * MIB));
      expect(read(dirname(memory ?? ""), "memory.limit_in_bytes")).toBe(String(64 * MIB));
    }
    expect([...first.holds].toSorted()).toEqual(["memory", "processes"]);
    expect(first.read()).toMatchObject({ outOfMemory: 0, processesRefused: 0 });
    const agentFolder = dirname(first.folders[0] ?? "");
    await first.remove();
    expect(existsSync(first.folders[0] ?? "")).toBe(false);
    expect(existsSync(agentFolder)).toBe(true);
    await second.remove();
    expect(existsSync(agentFolder)).toBe(false);
    await cgroups.close();
    expect(existsSync(dirname(agentFolder))).toBe(false);
  });

  it("raise and lower an agent's memory while its runs go on", async (context) => {
    const cgroups = await openCgroups();
    if (cgroups?.version !== "v1") return context.skip("no version 1 cgroup of this host can be written");
    const runs = [];
    for (const mib of [64, 128, 32]) {
      const agent = { name: "ada", limits: { memoryBytes: mib * MIB } };
      const run = await cgroups.makeRun({ limits: { memoryBytes: 16 * MIB, processes: 9 }, agent });
      const memory = run.folders.find((path) => existsSync(join(path, "memory.limit_in_bytes")));
      expect(read(dirname(memory ?? ""), "memory.limit_in_bytes")).toBe(String(mib * MIB));
      runs.push(run);
    }
    for (const run of runs) await run.remove();
    await cgroups.close();
  });

  it("join only hierarchies that hold something", async (context) => {
    const cgroups = await openCgroups();
    if (cgroups?.version !== "v1") return context.skip("no version 1 cgroup of this host can be written");
    const plain = await cgroups.makeRun({ limits: { memoryBytes: MIB, processes: 4 } });
    const shared = await cgroups.makeRun({ limits: { memoryBytes: MIB, processes: 4, cpuMillicores: 500 } });
    expect(shared.folders.length).toBe(plain.folders.length + 1);
    expect(shared.holds.has("cpu")).toBe(true);
    await plain.remove();
    await shared.remove();
    await cgroups.close();
  });
});

describe("where cgroups are made", () => {
  /** A folder that looks like a hierarchy of version 2; the kernel's own cannot be had in every test. */
  async function withTree(test: (root: string) => Promise<void>): Promise<void> {
    const root = await mkdtemp(join(tmpdir(), "sp-cg-"));
    await test(root).finally(() => rm(root, { recursive: true, force: true }));
  }

  it("is the group above ours when ours has processes in it (DelegateSubgroup=)", () =>
    withTree(async (root) => {
      mkdirSync(join(root, "own"));
      mkdirSync(join(root, "own", "cgroup.subtree_control"));
      for (const folder of [root, join(root, "own")])
        writeFileSync(join(folder, "cgroup.controllers"), "cpu memory pids\n");
      writeFileSync(join(root, "cgroup.subtree_control"), "");
      const cgroups = await openCgroups({ v1: {}, v2: join(root, "own") });
      expect(cgroups?.version).toBe("v2");
      expect(readFileSync(join(root, "cgroup.subtree_control"), "utf8")).toBe("+memory +pids +cpu");
    }));

  it("is nowhere without the controllers for memory and processes", () =>
    withTree(async (root) => {
      writeFileSync(join(root, "cgroup.controllers"), "hugetlb\n");
      expect(await openCgroups({ v1: {}, v2: root })).toBeUndefined();
      expect(await openCgroups({ v1: { cpu: root } })).toBeUndefined();
      expect(await openCgroups({ v1: { memory: "/proc/nowhere", pids: "/proc/nowhere" } })).toBeUndefined();
    }));

  it("is cleared of what a process that is no more left", () =>
    withTree(async (root) => {
      mkdirSync(join(root, "sallyport-4194304-1-dead", "agent-1", "run-1"), { recursive: true });
      // In a container the number is the same at every start.
      mkdirSync(join(root, `sallyport-${process.pid}-1-before`));
      mkdirSync(join(root, `sallyport-${ownMark()}-mine`));
      mkdirSync(join(root, "others"));
      await openCgroups({ v1: { memory: root, pids: root } });
      expect((await readdir(root)).toSorted()).toEqual(["others", `sallyport-${ownMark()}-mine`]);
    }));
});
