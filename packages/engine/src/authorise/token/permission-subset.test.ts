import type { Permissions } from "@sallyport/protocol";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { beyondAgent } from "./permission-subset.ts";

const NONE: Permissions = { filesystem: [], network: [], credentials: [] };

const paths = (...list: [string, "ro" | "rw"][]): Permissions => ({
  ...NONE,
  filesystem: list.map(([path, mode]) => ({ path, mode })),
});
const hosts = (...network: Permissions["network"]): Permissions => ({ ...NONE, network });

describe("paths", () => {
  it.each<[string, "ro" | "rw", string, "ro" | "rw", boolean]>([
    ["/data", "rw", "/data", "rw", true],
    ["/data/a/b", "rw", "/data", "rw", true],
    ["/data/a", "ro", "/data", "ro", true],
    ["/data/", "ro", "/data", "ro", true],
    ["/data", "ro", "/data/", "ro", true],
    ["//data//a", "ro", "/data", "ro", true],
    ["/data/./a/../b", "ro", "/data", "ro", true],
    ["/anything", "rw", "/", "rw", true],
    ["/", "ro", "/", "ro", true],
    ["data/a", "ro", "data", "ro", true],
    ["./data", "ro", "data", "ro", true],
    ["/data/a", "rw", "/data", "ro", false],
    ["/database", "ro", "/data", "ro", false],
    ["/", "ro", "/data", "ro", false],
    ["/data/..", "ro", "/data", "ro", false],
    ["/data/../etc", "ro", "/data", "ro", false],
    ["/data/a/../../etc", "ro", "/data", "ro", false],
    ["/Work", "ro", "/data", "ro", false],
    ["work", "ro", "/data", "ro", false],
    ["/data", "ro", "work", "ro", false],
    ["/data", "ro", ".", "ro", false],
    ["../secret", "ro", "../secret", "ro", false],
    ["a/../../b", "ro", ".", "ro", false],
    ["/data/..\\etc", "ro", "/data", "ro", false],
    ["/data/a\0b", "ro", "/data", "ro", false],
    ["", "ro", "/", "ro", false],
    ["/data", "ro", "", "ro", false],
    ["/data ", "ro", "/data", "ro", false],
  ])("%j (%s) in %j (%s): %s", (path, mode, allowed, allowedMode, inside) => {
    const beyond = beyondAgent(paths([path, mode]), paths([allowed, allowedMode]));
    if (inside) expect(beyond).toBeUndefined();
    else
      expect(beyond).toMatchObject({
        code: "E3105",
        details: { path, mode, allowed: [`${allowed} (${allowedMode})`] },
      });
  });

  it("are inside their own folder whatever stands below, and never in one beside it", () => {
    const name = fc
      .string({ minLength: 1, maxLength: 8 })
      .filter((text) => /^[^/\\\0]+$/.test(text) && !/^\.{1,2}$/.test(text));
    fc.assert(
      fc.property(
        fc.array(name, { minLength: 1, maxLength: 4 }),
        name,
        fc.array(name, { maxLength: 3 }),
        (base, other, below) => {
          const folder = `/${base.join("/")}`;
          expect(
            beyondAgent(paths([[folder, ...below].join("/"), "ro"]), paths([folder, "rw"])),
          ).toBeUndefined();
          expect(beyondAgent(paths([`${folder}${other}`, "ro"]), paths([folder, "rw"]))).toMatchObject({
            code: "E3105",
          });
          expect(beyondAgent(paths([`${folder}/..`, "ro"]), paths([folder, "rw"]))).toMatchObject({
            code: "E3105",
          });
        },
      ),
    );
  });
});

describe("hosts", () => {
  it.each<[Permissions["network"][number], Permissions["network"][number], boolean]>([
    [{ host: "api.example.com", port: 443 }, { host: "api.example.com", port: 443 }, true],
    [{ host: "api.example.com", port: 443 }, { host: "api.example.com" }, true],
    [{ host: "API.Example.COM", port: 443 }, { host: "api.example.com", port: 443 }, true],
    [{ host: "api.example.com.", port: 443 }, { host: "api.example.com", port: 443 }, true],
    [{ host: "api.example.com", port: 443 }, { host: "*.example.com", port: 443 }, true],
    [{ host: "a.b.example.com" }, { host: "*.example.com" }, true],
    [{ host: "*.example.com" }, { host: "*.example.com" }, true],
    [{ host: "*.a.example.com" }, { host: "*.example.com" }, true],
    [{ host: "[::1]", port: 80 }, { host: "[::1]", port: 80 }, true],
    [{ host: "api.example.com", port: 80 }, { host: "api.example.com", port: 443 }, false],
    [{ host: "api.example.com" }, { host: "api.example.com", port: 443 }, false],
    [{ host: "example.com" }, { host: "*.example.com" }, false],
    [{ host: ".example.com" }, { host: "*.example.com" }, false],
    [{ host: "evilexample.com" }, { host: "*.example.com" }, false],
    [{ host: "api.example.com.evil.com" }, { host: "*.example.com" }, false],
    [{ host: "evil.com/.example.com" }, { host: "*.example.com" }, false],
    [{ host: "evil.com#.example.com" }, { host: "*.example.com" }, false],
    [{ host: "user@api.example.com" }, { host: "*.example.com" }, false],
    [{ host: "api.example.com:80" }, { host: "*.example.com" }, false],
    [{ host: "127.0.0.1" }, { host: "*.0.0.1" }, false],
    [{ host: "*.example.com" }, { host: "api.example.com" }, false],
    [{ host: "*" }, { host: "*.example.com" }, false],
    [{ host: "anything.example" }, { host: "*" }, false],
    [{ host: "anything.example" }, { host: "*." }, false],
    [{ host: "ap\u0456.example.com" }, { host: "*.example.com" }, false],
    [{ host: "\u212aelvin.example" }, { host: "kelvin.example" }, false],
    [{ host: "" }, { host: "" }, false],
  ])("%j under %j: %s", (wanted, allowed, inside) => {
    const beyond = beyondAgent(hosts(wanted), hosts(allowed));
    if (inside) expect(beyond).toBeUndefined();
    else
      expect(beyond).toMatchObject({
        code: "E3104",
        details: { host: expect.stringContaining(wanted.host) },
      });
  });
});

describe("permissions", () => {
  it("of nothing are inside everything, and nothing holds no permissions", () => {
    expect(beyondAgent(NONE, NONE)).toBeUndefined();
    expect(beyondAgent(paths(["/a", "ro"]), NONE)).toMatchObject({ code: "E3105", details: { allowed: [] } });
    expect(beyondAgent(hosts({ host: "a" }), NONE)).toMatchObject({ code: "E3104" });
  });

  it("to use credentials are compared by name alone", () => {
    const allowed = { ...NONE, credentials: ["aws_read", "*"] };
    expect(beyondAgent({ ...NONE, credentials: ["aws_read"] }, allowed)).toBeUndefined();
    for (const credential of ["aws_rea", "AWS_READ", "aws_read ", "other"])
      expect(beyondAgent({ ...NONE, credentials: ["aws_read", credential] }, allowed)).toMatchObject({
        code: "E3205",
        details: { credential, allowed: ["aws_read", "*"] },
      });
  });

  it("need only one of the allowed entries, and name the first thing beyond them", () => {
    const allowed = paths(["/a", "ro"], ["/a/b", "rw"]);
    expect(beyondAgent(paths(["/a/b/c", "rw"], ["/a/x", "ro"]), allowed)).toBeUndefined();
    expect(beyondAgent(paths(["/a/b", "rw"], ["/a/x", "rw"], ["/z", "rw"]), allowed)).toMatchObject({
      details: { path: "/a/x" },
    });
  });
});
