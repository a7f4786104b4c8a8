import type { AgentBounds, SandboxLimits, SandboxOrder } from "@sallyport/engine/ports";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { beyondBounds, coversHost } from "./beyond-bounds.ts";

const LIMITS: SandboxLimits = {
  wallMs: 1000,
  memoryBytes: 1024,
  cpuMs: 500,
  processes: 4,
  openFiles: 16,
  fileBytes: 100,
  diskBytes: 200,
  outputBytes: 300,
  connections: 2,
};

function asked(bounds: Partial<AgentBounds>, order: Partial<SandboxOrder> = {}) {
  const whole: AgentBounds = { agent: "ada", limits: {}, ...bounds };
  return beyondBounds({ limits: LIMITS, egress: [], mounts: [], ...order, bounds: whole });
}

describe("an order within its agent's bounds [L3-EXE-1]", () => {
  it("passes without bounds and with equal ones", () => {
    expect(beyondBounds({ limits: LIMITS, egress: [], mounts: [] })).toBeUndefined();
    expect(asked({ limits: LIMITS })).toBeUndefined();
  });

  it("is refused for each limit beyond, naming both numbers", () => {
    const names = Object.keys(LIMITS) as (keyof SandboxLimits)[];
    for (const name of names) {
      const most = (LIMITS[name] ?? 0) - 1;
      const refused = asked({ limits: { [name]: most } });
      expect(refused, name).toMatchObject({ code: "E3102", details: { limit: name, agentHas: most } });
      expect(refused?.message).toContain(String(LIMITS[name]));
      expect(refused?.message).toContain(`has ${most}`);
    }
  });

  it("takes no limit for more than any", () => {
    expect(asked({ limits: { cpuMillicores: 500 } })).toMatchObject({
      code: "E3102",
      details: { asked: null },
    });
  });

  it("is refused for a host the agent may not reach", () => {
    const network = [{ host: "*.example.com", port: 443 }, { host: "db.internal" }];
    expect(asked({ network }, { egress: [{ host: "api.example.com", port: 443 }] })).toBeUndefined();
    expect(asked({ network }, { egress: [{ host: "db.internal", port: 5432 }] })).toBeUndefined();
    for (const rule of [
      { host: "api.example.com" },
      { host: "api.example.com", port: 80 },
      { host: "example.com", port: 443 },
      { host: "evil.com", port: 443 },
    ]) {
      expect(asked({ network }, { egress: [rule] }), JSON.stringify(rule)).toMatchObject({ code: "E3104" });
    }
    expect(asked({ network: [] }, { egress: [{ host: "a.b" }] })?.message).toContain("no network at all");
    expect(asked({}, { egress: [{ host: "a.b" }] })).toBeUndefined();
  });

  it("is refused for a path the agent may not use", () => {
    const filesystem = [
      { path: "/data", mode: "ro" },
      { path: "/ws", mode: "rw" },
      { path: "/ws/fixed", mode: "ro" },
    ] as const;
    const mount = (source: string) =>
      asked({ filesystem: [...filesystem] }, { mounts: [{ source, target: "/m", mode: "ro" }] });
    for (const fine of ["/data", "/data/x", "/ws/a", "/ws", "/ws/fixed/deep"]) {
      expect(mount(fine)).toBeUndefined();
    }
    for (const beyond of ["/database", "/"]) {
      expect(mount(beyond)).toMatchObject({ code: "E3105" });
    }
  });

  it("is refused for a workspace outside, not for one the agent may only read", () => {
    const view = (root: string) => ({ workspace: { kind: "copy", root, copy: "/c" } as const });
    const filesystem = [{ path: "/ws", mode: "ro" as const }];
    expect(asked({ filesystem }, view("/ws/project"))).toBeUndefined();
    expect(asked({ filesystem }, view("/home"))).toMatchObject({ code: "E3105", details: { path: "/home" } });
  });
});

describe("a covered host", () => {
  it("is one whose every name the bound allows", () => {
    const label = fc.stringMatching(/^[a-z]{1,5}$/);
    const pattern = fc
      .tuple(fc.boolean(), fc.array(label, { minLength: 1, maxLength: 3 }))
      .map(([wild, labels]) => `${wild ? "*." : ""}${labels.join(".")}`);
    const matches = (rule: string, name: string) =>
      rule.startsWith("*.") ? name.endsWith(rule.slice(1)) && name.length > rule.length - 1 : name === rule;
    fc.assert(
      fc.property(pattern, pattern, label, (bound, inner, extra) => {
        const names = inner.startsWith("*.")
          ? [`${extra}${inner.slice(1)}`, `a.b${inner.slice(1)}`]
          : [inner];
        if (coversHost(bound, inner)) for (const name of names) expect(matches(bound, name)).toBe(true);
      }),
    );
  });

  it("compares without case and knows the wildcard of all", () => {
    expect(coversHost("API.Example.com.", "api.example.com")).toBe(true);
    expect(coversHost("*", "anything.at.all")).toBe(true);
    expect(coversHost("*.example.com", "*.a.example.com")).toBe(true);
    expect(coversHost("*.example.com", "*")).toBe(false);
    expect(coversHost("*.example.com", "badexample.com")).toBe(false);
  });
});
