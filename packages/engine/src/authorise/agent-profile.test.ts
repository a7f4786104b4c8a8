import type { Permissions } from "@sallyport/protocol";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { boundsOf, exceedsLimits, exceedsPermissions } from "./agent-profile.ts";

const NONE: Permissions = { filesystem: [], network: [], credentials: [] };

const paths = (...list: [string, "ro" | "rw"][]): Permissions => ({
  ...NONE,
  filesystem: list.map(([path, mode]) => ({ path, mode })),
});
const hosts = (...network: Permissions["network"]): Permissions => ({ ...NONE, network });

/** `host` or `host:port`. */
const hostOf = (text: string): Permissions["network"][number] => {
  const [, host = "", port] = /^(.*?)(?::(\d+))?$/.exec(text) ?? [];
  return port === undefined ? { host } : { host, port: Number(port) };
};

describe("paths", () => {
  it.each<[string, boolean, string[]]>([
    ["/data", true, ["/data", "/data/", "/data/a/b", "//data//a", "/data/./a/../b"]],
    ["/data/", true, ["/data"]],
    ["/", true, ["/", "/anything"]],
    ["data", true, ["data/a", "./data"]],
    ["/data", false, ["/database", "/", "/data/..", "/data/../etc", "/data/a/../../etc", "/Work", "work"]],
    ["/data", false, ["/data/..\\etc", "/data/a\0b", "/data ", ""]],
    [".", false, ["/data", "a/../../b"]],
    ["work", false, ["/data"]],
    ["../secret", false, ["../secret"]],
    ["", false, ["/data"]],
  ])("in %j lies, %s: %j", (allowed, inside, wanted) => {
    for (const path of wanted) {
      const exceeded = exceedsPermissions(paths([path, "ro"]), paths([allowed, "ro"]));
      const details = { path, mode: "ro", allowed: [`${allowed} (ro)`] };
      if (inside) expect(exceeded, path).toBeUndefined();
      else expect(exceeded, path).toMatchObject({ code: "E3105", details });
    }
  });

  it("may be written only where that is allowed", () => {
    expect(exceedsPermissions(paths(["/data/a", "rw"]), paths(["/data", "rw"]))).toBeUndefined();
    expect(exceedsPermissions(paths(["/data/a", "rw"]), paths(["/data", "ro"]))).toMatchObject({
      details: { path: "/data/a", mode: "rw" },
    });
  });

  it("are inside their own folder whatever stands below, and never in one beside it", () => {
    const name = fc
      .string({ minLength: 1, maxLength: 8 })
      .filter((text) => /^[^/\\\0]+$/.test(text) && !/^\.{1,2}$/.test(text));
    const names = (minLength: number) => fc.array(name, { minLength, maxLength: 4 });
    fc.assert(
      fc.property(names(1), name, names(0), (base, other, below) => {
        const folder = `/${base.join("/")}`;
        const exceeded = (path: string) => exceedsPermissions(paths([path, "ro"]), paths([folder, "rw"]));
        expect(exceeded([folder, ...below].join("/"))).toBeUndefined();
        for (const path of [`${folder}${other}`, `${folder}/..`])
          expect(exceeded(path)).toMatchObject({ code: "E3105" });
      }),
    );
  });
});

describe("hosts", () => {
  it.each<[string, boolean, string[]]>([
    ["api.example.com:443", true, ["api.example.com:443", "API.Example.COM:443", "api.example.com.:443"]],
    ["api.example.com", true, ["api.example.com:443"]],
    ["*.example.com:443", true, ["api.example.com:443"]],
    ["*.example.com", true, ["a.b.example.com", "*.example.com", "*.a.example.com"]],
    ["[::1]:80", true, ["[::1]:80"]],
    ["api.example.com:443", false, ["api.example.com:80", "api.example.com"]],
    ["*.example.com", false, ["example.com", ".example.com", "evilexample.com", "api.example.com.evil.com"]],
    ["*.example.com", false, ["evil.com/.example.com", "evil.com#.example.com", "user@api.example.com", "*"]],
    ["*.example.com", false, ["ap\u0456.example.com"]],
    ["*.0.0.1", false, ["127.0.0.1"]],
    ["api.example.com", false, ["*.example.com"]],
    ["*", false, ["anything.example"]],
    ["*.", false, ["anything.example"]],
    ["kelvin.example", false, ["\u212aelvin.example"]],
    ["", false, [""]],
  ])("under %j stands, %s: %j", (allowed, inside, wanted) => {
    for (const text of wanted) {
      const exceeded = exceedsPermissions(hosts(hostOf(text)), hosts(hostOf(allowed)));
      const details = { host: expect.stringContaining(hostOf(text).host) };
      if (inside) expect(exceeded, text).toBeUndefined();
      else expect(exceeded, text).toMatchObject({ code: "E3104", details });
    }
  });

  it("of a name with a port in it are no hosts", () => {
    expect(
      exceedsPermissions(hosts({ host: "api.example.com:80" }), hosts({ host: "*.example.com" })),
    ).toBeDefined();
  });
});

describe("permissions", () => {
  it("of nothing are inside everything, and nothing holds no permissions", () => {
    expect(exceedsPermissions(NONE, NONE)).toBeUndefined();
    expect(exceedsPermissions(paths(["/a", "ro"]), NONE)).toMatchObject({
      code: "E3105",
      details: { allowed: [] },
    });
    expect(exceedsPermissions(hosts({ host: "a" }), NONE)).toMatchObject({ code: "E3104" });
  });

  it("to use credentials are compared by name alone", () => {
    const allowed = { ...NONE, credentials: ["aws_read", "*"] };
    expect(exceedsPermissions({ ...NONE, credentials: ["aws_read"] }, allowed)).toBeUndefined();
    for (const credential of ["aws_rea", "AWS_READ", "aws_read ", "other"])
      expect(exceedsPermissions({ ...NONE, credentials: ["aws_read", credential] }, allowed)).toMatchObject({
        code: "E3205",
        details: { credential, allowed: ["aws_read", "*"] },
      });
  });

  it("need only one of the allowed entries, and name the first thing beyond them", () => {
    const allowed = paths(["/a", "ro"], ["/a/b", "rw"]);
    expect(exceedsPermissions(paths(["/a/b/c", "rw"], ["/a/x", "ro"]), allowed)).toBeUndefined();
    expect(exceedsPermissions(paths(["/a/b", "rw"], ["/a/x", "rw"], ["/z", "rw"]), allowed)).toMatchObject({
      details: { path: "/a/x" },
    });
  });
});

const PROFILE = { agents: ["*"], tenants: ["*"], clearance: 7, roles: [] };

describe("a tool's limits in its agent's [L3-EXE-1]", () => {
  it("may be as wide and no wider; those it does not state are the agent's", () => {
    const agent = { timeoutMs: 900_000, memoryBytes: 4096 };
    expect(exceedsLimits({ timeoutMs: 900_000, memoryBytes: 4096 }, agent)).toBeUndefined();
    expect(exceedsLimits({}, agent)).toBeUndefined();
    expect(exceedsLimits({ timeoutMs: 900_001 }, agent)).toMatchObject({
      code: "E3102",
      retryable: false,
      details: { limit: "timeoutMs", wanted: 900_001, allowed: 900_000 },
    });
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
