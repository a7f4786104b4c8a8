import { describe, expect, it } from "vitest";
import { beyondLimits } from "./agent-limits.ts";
import { boundsOf } from "./agent-profile.ts";

const PROFILE = { agents: ["*"], tenants: ["*"], clearance: 7, roles: [] };

describe("a tool's limits in its agent's [L3-EXE-1]", () => {
  it("may be as wide and no wider", () => {
    const agent = { timeoutMs: 900_000, memoryBytes: 4096 };
    expect(beyondLimits({ timeoutMs: 900_000, memoryBytes: 4096 }, agent)).toBeUndefined();
    expect(beyondLimits({ timeoutMs: 900_001 }, agent)).toMatchObject({
      code: "E3102",
      retryable: false,
      details: { limit: "timeoutMs", wanted: 900_001, allowed: 900_000 },
    });
  });

  it("are the agent's where the tool states none", () => {
    expect(beyondLimits({}, { maxProcesses: 4 })).toBeUndefined();
  });

  it("become the bounds of the outer sandbox", () => {
    expect(boundsOf("scout", PROFILE)).toBeUndefined();
    const permissions = {
      filesystem: [{ path: "/data", mode: "ro" as const }],
      network: [{ host: "a.example" }],
      credentials: [],
    };
    expect(
      boundsOf("scout", { ...PROFILE, permissions, limits: { memoryBytes: 10, maxProcesses: 3 } }),
    ).toEqual({
      agent: "scout",
      limits: { memoryBytes: 10, processes: 3 },
      filesystem: permissions.filesystem,
      network: permissions.network,
    });
  });
});
