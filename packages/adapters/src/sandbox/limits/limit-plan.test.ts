import type { SandboxLimits } from "@sallyport/engine/ports";
import { describe, expect, it } from "vitest";
import { agentGroupLimits, limitPlan, runGroupLimits } from "./limit-plan.ts";

const LIMITS: SandboxLimits = {
  wallMs: 1000,
  memoryBytes: 100 * 1024 * 1024,
  cpuMs: 1500,
  processes: 10,
  openFiles: 32,
  fileBytes: 100,
  diskBytes: 200,
  outputBytes: 300,
  connections: 2,
};
const ALONE = {
  cgroup: new Set<never>(),
  tasksBeside: 0,
  scratch: "tmpfs",
  writesDisk: false,
  hasNetwork: false,
} as const;

describe("limits [MCX-7]", () => {
  it("are held by rlimits and the watch where there is no cgroup [X-11]", () => {
    const plan = limitPlan(LIMITS, ALONE);
    expect(plan.watch).toEqual({ processes: 10, memoryBytes: LIMITS.memoryBytes, cpuMs: 1500 });
    expect(plan.rlimits).toMatchObject({ core: 0, nofile: 32, fsize: 100, cpu: 3 });
    expect(plan.rlimits.data).toBeGreaterThan(LIMITS.memoryBytes);
    expect(plan.enforcement).toEqual({
      wall: "watch",
      memory: "watch",
      processes: "watch",
      openFiles: "rlimit",
      fileSize: "rlimit",
      disk: "tmpfs",
      output: "watch",
      connections: "none",
      cpu: "watch",
    });
  });

  it("are held by the cgroup where there is one, and say so [X-11]", () => {
    const plan = limitPlan(LIMITS, {
      ...ALONE,
      cgroup: new Set(["memory", "processes", "cpu"]),
      hasNetwork: true,
    });
    expect(plan.rlimits.data).toBeUndefined();
    expect(plan.watch.memoryBytes).toBeUndefined();
    expect(plan.enforcement).toMatchObject({ memory: "cgroup", processes: "cgroup", connections: "proxy" });
  });

  it("count in processes of the same user that are there anyway", () => {
    const alone = limitPlan(LIMITS, ALONE).rlimits.nproc ?? 0;
    expect(alone).toBeGreaterThan(LIMITS.processes);
    expect(limitPlan(LIMITS, { ...ALONE, tasksBeside: 100 }).rlimits.nproc).toBe(alone + 100);
  });

  it("say when nothing holds a share of the processors [X-11]", () => {
    const { cpuMs: _, ...rest } = LIMITS;
    const shared = { ...rest, cpuMillicores: 500 };
    expect(limitPlan(shared, ALONE).enforcement.cpu).toBe("none");
    expect(limitPlan(shared, { ...ALONE, cgroup: new Set(["cpu"]) }).enforcement.cpu).toBe("cgroup");
    expect(limitPlan(rest, ALONE).enforcement.cpu).toBeUndefined();
  });

  it("measure the workspace's disk and not the scratch's", () => {
    expect(limitPlan(LIMITS, { ...ALONE, writesDisk: true }).enforcement.disk).toBe("watch");
    expect(limitPlan(LIMITS, { ...ALONE, scratch: "none" }).enforcement.disk).toBe("none");
  });

  it("leave room for our own processes", () => {
    expect(runGroupLimits(LIMITS)).toEqual({ memoryBytes: LIMITS.memoryBytes, processes: 26 });
    expect(agentGroupLimits({ agent: "a", limits: { memoryBytes: 5, wallMs: 1 } })).toEqual({
      memoryBytes: 5,
    });
  });
});
