import {
  type Failure,
  failure,
  type JsonValue,
  type SallyportError,
  type SideEffects,
} from "@sallyport/protocol";
import { describe, expect, it } from "vitest";
import type { FileAccess } from "../ports/workspace.ts";
import { GuardedHost, type HostedUse } from "./guarded-host.ts";

interface Setting {
  capabilities?: string[];
  sideEffects?: SideEffects;
  refuseUse?: (use: HostedUse) => Failure | undefined;
  severityOf?: (capability: string) => "critical" | undefined;
  files?: FileAccess;
}

const ALL = ["state.read", "state.write", "state.delete", "network.https"];

function open({ capabilities = ALL, sideEffects = "state", ...rest }: Setting = {}) {
  const values = new Map<string, JsonValue>();
  const violations: Failure[] = [];
  const told: string[] = [];
  const host = new GuardedHost({
    tool: "web.get",
    state: {
      get: async (key) => values.get(key),
      put: async (key, value) => void values.set(key, value),
      delete: async (key) => void values.delete(key),
      keys: async (prefix) => [...values.keys()].filter((key) => key.startsWith(prefix)),
    },
    capabilities,
    sideEffects,
    onViolation: (violation) => void violations.push(violation),
    onProgress: () => undefined,
    maxOutputBytes: 5,
    onOutput: (chunk) => void told.push(Buffer.from(chunk).toString()),
    ...rest,
  });
  return { host, values, violations, told };
}

describe("what a tool may do while it runs", () => {
  it("output is passed on as far as there is room, counted in bytes [FR-REG-04]", async () => {
    const { host, told } = open();
    expect([await host.output("é"), await host.output("four"), await host.output("abc")]).toEqual([
      true,
      false,
      true,
    ]);
    expect(told).toEqual(["é", "abc"]);
  });

  it("access to state is a use of its key, counted [R1-5.2] [R3-4]", async () => {
    const { host } = open();
    await host.put("a/1", 1);
    await host.put("a/2", 2);
    expect(await host.get("a/1")).toBe(1);
    expect(await host.keys("a/")).toEqual(["a/1", "a/2"]);
    await host.delete("a/1");
    await host.use("network.https", { action: "GET", resource: "https://a.com" });
    expect(host.uses.entries()).toEqual([
      { action: "write", capability: "state.write", first: "a/1", last: "a/2", uses: 2 },
      { action: "read", capability: "state.read", first: "a/1", uses: 1 },
      { action: "list", capability: "state.read", first: "a/*", uses: 1 },
      { action: "delete", capability: "state.delete", first: "a/1", uses: 1 },
      { action: "GET", capability: "network.https", first: "https://a.com", uses: 1 },
    ]);
  });

  it.each([
    ["a link out of its folder", ["link", "pub/x", "../secret/a"], "secret/a"],
    ["a link to a folder elsewhere", ["link", "pub/d", "/secret"], "/secret"],
    ["a rename into its folder", ["rename", "secret/a", "pub/a"], "secret/a"],
  ] as const)("%s does not make readable what it may not read [R3-4]", async (_, [op, from, to], refused) => {
    const isOwn = ({ capability, resource = "" }: HostedUse) =>
      capability === "filesystem.delete" || resource.startsWith("pub/");
    const done: string[] = [];
    const files = { link: async () => void done.push("link"), rename: async () => void done.push("rename") };
    const setting = {
      capabilities: ["filesystem.read", "filesystem.write", "filesystem.delete"],
      refuseUse: (use: HostedUse) => (isOwn(use) ? undefined : failure("E3217")),
      files: files as Partial<FileAccess> as FileAccess,
    };
    const { host, violations } = open(setting);
    await expect(host.files[op](from, to)).rejects.toMatchObject({ failure: { code: "E3217" } });
    expect(violations).toMatchObject([{ details: { capability: "filesystem.read", resource: refused } }]);
    expect(done).toEqual([]);
    await open(setting).host.files[op]("pub/1", op === "link" ? "2" : "pub/2");
    expect(done).toEqual([op]);
  });

  it("each kind of access asks the authority, with what it is about [R3-4]", async () => {
    const asked: HostedUse[] = [];
    const { host } = open({ refuseUse: (use) => void asked.push(use) });
    await host.get("k");
    await host.put("k", 1);
    await host.delete("k");
    await host.keys("k");
    await host.use("network.https");
    await host.use("network.https", { action: "GET", resource: "r", bytes: 7 });
    expect(asked).toEqual([
      { capability: "state.read", action: "read", resource: "k" },
      { capability: "state.write", action: "write", resource: "k" },
      { capability: "state.delete", action: "delete", resource: "k" },
      { capability: "state.read", action: "list", resource: "k*" },
      { capability: "network.https" },
      { capability: "network.https", action: "GET", resource: "r", bytes: 7 },
    ]);
  });

  it.each<[string, (host: GuardedHost) => Promise<unknown>]>([
    ["state.read", (host) => host.get("k")],
    ["state.read", (host) => host.keys("k")],
    ["state.write", (host) => host.put("k", 1)],
    ["state.delete", (host) => host.delete("k")],
    ["network.https", (host) => host.use("network.https")],
  ])("%s that was not granted ends the call and is not counted [R1-5.2] [R3-4]", async (capability, act) => {
    const { host, violations, values } = open({ capabilities: [], refuseUse: () => failure("E3224") });
    await expect(act(host)).rejects.toThrow("E3212");
    expect(violations).toMatchObject([{ code: "E3212", details: { capability, severity: "high" } }]);
    expect([host.uses.entries(), values.size]).toEqual([[], 0]);
  });

  it("a use that its grant does not cover ends the call before anything is done [R3-4]", async () => {
    const refuseUse = (use: HostedUse) =>
      use.resource === "secret" ? failure("E3212", { details: { x: 1 } }) : undefined;
    const { host, violations, values } = open({ refuseUse, severityOf: () => "critical" });
    await host.put("open", 1);
    await expect(host.put("secret", 1)).rejects.toThrow("E3212");
    expect(violations).toMatchObject([
      {
        code: "E3212",
        details: {
          x: 1,
          capability: "state.write",
          action: "write",
          resource: "secret",
          severity: "critical",
        },
      },
    ]);
    expect([...values.keys()]).toEqual(["open"]);
    expect(host.uses.entries()).toHaveLength(1);
  });

  it("severity rates the tool's own breaches only: a grant withdrawn or used up is none [R3-4]", async () => {
    for (const code of ["E3217", "E3224"] as const) {
      const { host, violations } = open({ refuseUse: () => failure(code), severityOf: () => "critical" });
      await expect(host.get("k")).rejects.toThrow(code);
      expect(violations[0]?.details).toEqual({ capability: "state.read", action: "read", resource: "k" });
    }
  });

  it("a tool without side effects changes nothing [R1-4.2]", async () => {
    const { host, violations, values } = open({ sideEffects: "none" });
    await expect(host.put("k", 1)).rejects.toThrow("E3911");
    await expect(host.delete("k")).rejects.toThrow("E3911");
    expect(violations).toMatchObject([{ code: "E3911" }, { code: "E3911", details: { severity: "high" } }]);
    expect([host.uses.entries(), values.size]).toEqual([[], 0]);
    expect(await host.get("k")).toBeUndefined();
  });

  it("what a violation says is short and without credentials", async () => {
    const { host } = open({ capabilities: [] });
    const resource = `https://a.com?t=ghp_${"a".repeat(36)}&${"x".repeat(400)}`;
    const error = await host
      .use("network.https", { resource })
      .catch((thrown: SallyportError) => thrown.failure);
    expect(error).toMatchObject({
      details: { resource: expect.stringMatching(/^https:\/\/a\.com\?t=\[REDACTED.*\]&x+$/) },
    });
    expect(JSON.stringify(error).length).toBeLessThan(800);
  });
});
