import { describe, expect, it } from "vitest";
import { SharedGroup } from "./cgroups.ts";
import { cgroupLayout } from "./layout.ts";
import { v1Settings, v2Settings } from "./settings.ts";

describe("the layout of cgroups", () => {
  it("is read for version 1, with two controllers in one place", () => {
    const mounts = [
      "30 25 0:26 / /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory",
      "31 25 0:27 / /sys/fs/cgroup/cpu,cpuacct rw,relatime shared:9 - cgroup cgroup rw,cpu,cpuacct",
      "32 25 0:28 / /sys/fs/cgroup/pids rw,relatime - cgroup cgroup rw,pids",
    ].join("\n");
    const own = "4:memory:/a/b\n3:cpu,cpuacct:/\n2:pids:/user\n1:name=systemd:/x\n0::/\n";
    expect(cgroupLayout(mounts, own)).toEqual({
      v1: {
        memory: "/sys/fs/cgroup/memory/a/b",
        cpu: "/sys/fs/cgroup/cpu,cpuacct/",
        cpuacct: "/sys/fs/cgroup/cpu,cpuacct/",
        pids: "/sys/fs/cgroup/pids/user",
      },
    });
  });

  it("is read for version 2, also from inside a container", () => {
    const mounted = (root: string) => `40 25 0:30 ${root} /sys/fs/cgroup rw - cgroup2 cgroup rw`;
    expect(cgroupLayout(mounted("/"), "0::/user.slice/a.service\n").v2).toBe(
      "/sys/fs/cgroup/user.slice/a.service",
    );
    expect(cgroupLayout(mounted("/docker/x"), "0::/docker/x/y\n").v2).toBe("/sys/fs/cgroup/y");
    expect(cgroupLayout(mounted("/docker/x"), "0::/elsewhere\n").v2).toBeUndefined();
  });

  it("reads paths with blanks", () => {
    const mounts = "40 25 0:30 / /my\\040groups rw - cgroup2 cgroup rw";
    expect(cgroupLayout(mounts, "0::/x\n").v2).toBe("/my groups/x");
  });

  it("is empty where there is nothing", () => {
    expect(cgroupLayout("", "")).toEqual({ v1: {} });
  });
});

describe("a cgroup's settings", () => {
  const limits = { memoryBytes: 1024, processes: 5, cpuMillicores: 500 };

  it("are version 1's, by controller", () => {
    expect(v1Settings("memory", limits).map(({ file, value }) => `${file}=${value}`)).toEqual([
      "memory.limit_in_bytes=1024",
      "memory.memsw.limit_in_bytes=1024",
    ]);
    expect(v1Settings("pids", limits)).toEqual([{ file: "pids.max", value: "5" }]);
    expect(v1Settings("cpu", limits)[1]).toEqual({ file: "cpu.cfs_quota_us", value: "50000" });
    expect(v1Settings("cpuacct", limits)).toEqual([]);
    expect(v1Settings("memory", {})).toEqual([]);
  });

  it("are version 2's, all at once", () => {
    expect(v2Settings(limits).map(({ file, value }) => `${file}=${value}`)).toEqual([
      ...["memory.max=1024", "memory.swap.max=0", "memory.oom.group=1", "pids.max=5", "cpu.max=50000 100000"],
    ]);
    expect(v2Settings({})).toEqual([]);
  });
});

describe("a group that runs share", () => {
  function recorded() {
    const steps: string[] = [];
    const group = new SharedGroup<number>({
      make: async (limits) => void steps.push(`make ${limits}`),
      change: async (limits) => void steps.push(`change ${limits}`),
      remove: async () => void steps.push("remove"),
    });
    return { group, steps };
  }

  it("is made by the first and removed by the last", async () => {
    const { group, steps } = recorded();
    await Promise.all([group.use(1), group.use(1)]);
    await group.release();
    await group.use(2);
    await group.release();
    await group.release();
    expect(steps).toEqual(["make 1", "change 2", "remove"]);
  });

  it("is there for one who comes while the last one goes", async () => {
    const { group, steps } = recorded();
    await group.use(1);
    const leaving = group.release();
    await Promise.all([leaving, group.use(1)]);
    expect(steps).toEqual(["make 1"]);
    await group.release();
    expect(steps).toEqual(["make 1", "remove"]);
  });

  it("does not count one for whom it could not be made", async () => {
    let isBroken = true;
    const made: number[] = [];
    const group = new SharedGroup<number>({
      make: async (limits) => {
        if (isBroken) throw new Error("no");
        made.push(limits);
      },
      change: async () => undefined,
      remove: async () => undefined,
    });
    await expect(group.use(1)).rejects.toThrow("no");
    expect(group.isUsed).toBe(false);
    isBroken = false;
    await group.use(2);
    expect(made).toEqual([2]);
  });
});
