import { isFailure } from "@sallyport/protocol";
import { describe, expect, it } from "vitest";
import { CapabilityTree } from "./capability-tree.ts";

const tree = new CapabilityTree();

/** The issues an extension is refused with. */
function issuesOf(...drafts: Parameters<CapabilityTree["extend"]>[0]) {
  const answer = tree.extend(drafts);
  if (!isFailure(answer)) throw new Error("the extension was taken");
  expect(answer.code).toBe("E3220");
  return answer.issues ?? [];
}

describe("the capability tree", () => {
  it("has every capability of RFC-0003 under root [R3-1]", () => {
    const leaves = {
      filesystem: ["read", "write", "delete", "execute"],
      network: ["http", "https", "tcp", "udp"],
      process: ["spawn", "kill", "signal"],
      system: ["env", "time", "info"],
      state: ["read", "write", "delete"],
      admin: ["capability.grant", "capability.revoke", "tool.install"],
    };
    const ids = Object.entries(leaves).flatMap(([group, names]) => [
      group,
      ...names.map((name) => `${group}.${name}`),
    ]);
    expect(tree.all().map(({ id }) => id)).toEqual(["root", ...ids]);
    for (const [group, names] of Object.entries(leaves)) {
      expect(tree.get(group)?.parent).toBe("root");
      for (const name of names) expect(tree.get(`${group}.${name}`)?.parent).toBe(group);
    }
  });

  it.each([
    ["medium", [], ["filesystem.read", "network.http", "network.https", "process.signal"]],
    ["high", ["filesystem.read"], ["filesystem.write", "filesystem.delete"]],
    ["high", [], ["network.tcp", "network.udp", "process.kill"]],
    ["critical", ["filesystem.read"], ["filesystem.execute"]],
    ["critical", ["filesystem.execute"], ["process.spawn"]],
    [undefined, [], ["state.write", "system.env", "admin.capability.grant"]],
    [undefined, undefined, ["no.such"]],
  ])("risk %s and requirements %j have %j [R3-1]", (risk, requires, ids) => {
    for (const id of ids) expect([tree.riskOf(id), tree.get(id)?.requires], id).toEqual([risk, requires]);
  });

  it("follows prerequisites to the end [R3-1]", () => {
    expect(tree.requirementsOf("process.spawn")).toEqual(["filesystem.execute", "filesystem.read"]);
  });

  it("only administration and the root are never passed on", () => {
    const fixed = tree.all().filter(({ delegatable }) => !delegatable);
    expect(fixed.map(({ id }) => id.split(".")[0])).toEqual(["root", "admin", "admin", "admin", "admin"]);
  });

  it("takes capabilities of one's own, and stays as it was itself", () => {
    const extended = tree.extend([
      { id: "billing", parent: "root" },
      {
        id: "billing.refund",
        parent: "billing",
        risk: "high",
        requires: ["network.https"],
        conflicts: ["process.spawn"],
      },
    ]);
    if (isFailure(extended)) throw new Error(extended.message);
    expect(extended.get("billing.refund")).toMatchObject({
      delegatable: false,
      metadata: { deprecated: false },
    });
    expect(extended.conflict("process.spawn", "billing.refund")).toBe(true);
    expect(extended.conflict("network.http", "billing.refund")).toBe(false);
    expect(tree.get("billing")).toBeUndefined();
  });

  it("refuses what does not fit, each place by name [R3-1]", () => {
    expect(issuesOf({ id: "a", parent: "nowhere" })).toEqual([
      { path: "/0/parent", reason: "there is no capability nowhere" },
    ]);
    expect(issuesOf({ id: "state.read" })).toEqual([
      { path: "/0/id", reason: "state.read is there already" },
    ]);
    expect(issuesOf({ id: "a" }, { id: "a" })).toEqual([{ path: "/1/id", reason: "a is there already" }]);
    expect(issuesOf({ id: "Not OK" })).toEqual([
      { path: "/0/id", reason: '"Not OK" is not a dotted lower-case name (letters, digits, "-")' },
    ]);
    expect(issuesOf({ id: "a", requires: ["x"], conflicts: ["y"] }).map(({ path }) => path)).toEqual([
      "/0/requires",
      "/0/conflicts",
    ]);
  });

  it("refuses circles and contradictions [R3-1]", () => {
    const circle = issuesOf({ id: "a", requires: ["b"] }, { id: "b", requires: ["a"] });
    expect(circle).toEqual([
      { path: "/0/requires", reason: "leads back to itself" },
      { path: "/1/requires", reason: "leads back to itself" },
    ]);
    expect(issuesOf({ id: "a", parent: "b" }, { id: "b", parent: "a" })).toHaveLength(2);
    expect(issuesOf({ id: "a", requires: ["network.http"], conflicts: ["network.http"] })).toEqual([
      { path: "/0/conflicts", reason: "conflicts with network.http, which it requires" },
    ]);
  });
});
