import { isFailure, type JsonObject, type JsonValue } from "@sallyport/protocol";
import { describe, expect, it } from "vitest";
import type { AuthorityRequest } from "../ports/authority.ts";
import type { StandingGrant } from "../ports/grants.ts";
import { TIERS, type Tier } from "../ports/grants.ts";
import { authorityRequest } from "../testing/samples.ts";
import { HOUR, NOON, SIGNER, sampleApproval, sampleStanding } from "./grant/fixtures/sample-grants.ts";
import { GrantFollower, GrantIndex } from "./grant/index.ts";
import {
  draftStanding,
  matchesArgument,
  matchStanding,
  type StandingChoice,
  type StandingQuestion,
  standingIssues,
} from "./standing-grant.ts";

function answers(
  grant: Partial<StandingGrant>,
  request: Partial<AuthorityRequest> = {},
  ask: Partial<StandingQuestion> = {},
): boolean {
  const asked = authorityRequest({ at: NOON, ...request });
  return matchStanding([sampleStanding(grant)], asked, { tier: "user", ...ask }) !== undefined;
}

describe("standing grants", () => {
  it("answer for calls like the one they were made for [R3-2]", () => {
    expect(answers({})).toBe(true);
    const caller = { tenant: "acme", agent: "agent-7", session: "s" };
    expect(answers({ session: "s", project: "p" }, { caller }, { project: "p" })).toBe(true);
    expect(answers({ agent: "*" }, { caller: { tenant: "acme", agent: "anybody" } })).toBe(true);
    expect(answers({ versions: "^1.0.0" }, { version: "1.9.0" })).toBe(true);
  });

  it.each<[string, Partial<StandingGrant>, Partial<AuthorityRequest>]>([
    ["another tool", { tool: "file" }, {}],
    ["a tool pattern", { tool: "file.*" }, {}],
    ["another operation", { operations: ["delete"] }, {}],
    ["no operation", { operations: [] }, {}],
    ["another agent", { agent: "agent-8" }, {}],
    ["an agent pattern", { agent: "agent-*" }, {}],
    ["another tenant", { tenant: "other" }, {}],
    ["another session", { session: "s" }, { caller: { tenant: "acme", agent: "agent-7", session: "t" } }],
    ["no session", { session: "s" }, {}],
    ["no project", { project: "p" }, {}],
    ["a later major", {}, { version: "2.0.0" }],
    ["a range that is none", { versions: "garbage" }, {}],
    ["a moment after its end", { expiresAt: NOON }, {}],
    ["a moment after its revocation", { revokedAt: NOON - 1 }, {}],
  ])("do not answer for %s", (_what, grant, request) => {
    expect(answers(grant, request)).toBe(false);
  });

  it("never answer a question of a higher tier [R3-2]", () => {
    const table = TIERS.map((tier) => TIERS.map((asked) => answers({ tier }, {}, { tier: asked })));
    expect(table).toEqual([
      [true, false, false, false],
      [true, true, false, false],
      [true, true, true, false],
      [true, true, true, true],
    ]);
    const unheard = "emperor" as Tier;
    expect([answers({ tier: unheard }), answers({}, {}, { tier: unheard })]).toEqual([false, false]);
  });

  it.each<[JsonObject, JsonValue, boolean]>([
    [{ equals: { b: 1, a: [2] } }, { a: [2], b: 1 }, true],
    [{ equals: 1 }, "1", false],
    [{ oneOf: ["a", "b"] }, "b", true],
    [{ oneOf: ["a"] }, "b", false],
    [{ oneOf: "ab" }, "a", false],
    [{ glob: "*.txt" }, "a.txt", true],
    [{ glob: "/data/*" }, "/data/../etc/passwd", false],
    [{ glob: "*" }, 5, false],
    [{ prefix: "/data/" }, "/data/x", true],
    [{ prefix: "/data/" }, "/data/../x", false],
    [{ inside: "/data" }, "/data/x", true],
    [{ inside: "/data" }, "/database", false],
    [{ exists: true }, null, true],
    [{ exists: false }, 1, false],
    [{ glob: "*.txt", prefix: "a" }, "a.txt", true],
    [{ glob: "*.txt", prefix: "b" }, "a.txt", false],
    [{ looksLike: "a" }, "a", false],
    [{ constructor: "a" }, "a", false],
    [{}, "a", false],
  ])("the pattern %j matches %j: %s", (match, value, matched) => {
    expect(matchesArgument({ pointer: "/x", match }, { x: value })).toBe(matched);
  });

  it("patterns find their place by JSON Pointer, and a missing one matches only exists:false", () => {
    const input = { "a/b": { "c~d": [10, 20] } };
    expect(matchesArgument({ pointer: "/a~1b/c~0d/1", match: { equals: 20 } }, input)).toBe(true);
    for (const pointer of ["/a~1b/c~0d/2", "/a~1b/c~0d/-1", "/a~1b/c~0d/length", "/__proto__", "/x/y", "a"]) {
      expect(matchesArgument({ pointer, match: { exists: true } }, input), pointer).toBe(false);
      expect(matchesArgument({ pointer, match: { exists: false } }, input), pointer).toBe(true);
      expect(matchesArgument({ pointer, match: { glob: "*" } }, input), pointer).toBe(false);
    }
  });

  it("all patterns have to hold", () => {
    const patterns = [
      { pointer: "/path", match: { inside: "/data" } },
      { pointer: "/mode", match: { equals: "r" } },
    ];
    expect(answers({ arguments: patterns }, { input: { path: "/data/a", mode: "r" } })).toBe(true);
    expect(answers({ arguments: patterns }, { input: { path: "/data/a", mode: "w" } })).toBe(false);
    expect(answers({ arguments: patterns }, { input: { path: "/data/a" } })).toBe(false);
  });

  it("the grant index gives out genuine ones only [R3-2]", async () => {
    const grantIndex = new GrantIndex(SIGNER);
    const good = sampleStanding();
    grantIndex.load([good, { ...sampleStanding({ grantId: "forged" }), tool: "shell" }]);
    expect(grantIndex.standing()).toEqual([good]);
    const fail = () => Promise.reject(new Error("lost"));
    const lost = { get: fail, changedSince: fail };
    await new GrantFollower(grantIndex, lost).heard([good.grantId]);
    expect(grantIndex.standing()).toEqual([]);
    expect(grantIndex.counted([good.grantId])).toEqual([{ grantId: good.grantId }]);
  });
});

describe("making a standing grant from an approval", () => {
  const choice: StandingChoice = { arguments: "exact", agent: "this", by: "olga", tier: "user" };

  function drafted(change: Partial<StandingChoice> = {}, input: JsonValue = { path: "/data/a" }) {
    const draft = draftStanding(sampleApproval(), input, { ...choice, ...change });
    if (isFailure(draft)) throw new Error(JSON.stringify(draft.issues));
    return draft;
  }

  it("as narrow as the person chose [R3-2]", () => {
    expect(drafted({ session: "this", until: NOON + HOUR })).toEqual({
      kind: "standing",
      tenant: "acme",
      grantor: "olga",
      tier: "user",
      tool: "file.read",
      versions: "^1.2.3",
      operations: ["run"],
      arguments: [{ pointer: "", match: { equals: { path: "/data/a" } } }],
      agent: "agent-7",
      session: "s-1",
      expiresAt: NOON + HOUR,
      approvalId: "approval-1",
    });
    expect(drafted({ arguments: "any", agent: "any", versions: "1.2.3" })).toMatchObject({
      arguments: [],
      agent: "*",
      versions: "1.2.3",
    });
  });

  it("an input with secrets is remembered by its digest [L3P2-3]", () => {
    const input = { user: "ann", password: "hunter2 hunter2" };
    const { arguments: patterns } = drafted({}, input);
    expect(JSON.stringify(patterns)).not.toContain("hunter2");
    const [pattern] = patterns;
    expect(pattern && matchesArgument(pattern, input)).toBe(true);
    expect(pattern && matchesArgument(pattern, { ...input, password: "x" })).toBe(false);
  });

  it("any arguments of a risky call have to be meant (E3220)", () => {
    for (const risk of ["high", "critical"] as const) {
      const approval = sampleApproval({ risk });
      const wide = { ...choice, arguments: "any" as const };
      expect(draftStanding(approval, {}, wide)).toMatchObject({
        code: "E3220",
        issues: [{ path: "/arguments" }],
      });
      expect(draftStanding(approval, {}, { ...wide, arguments: [] })).toMatchObject({ code: "E3220" });
      expect(draftStanding(approval, {}, { ...wide, anyArguments: true })).toHaveProperty("arguments", []);
      expect(draftStanding(approval, {}, choice)).not.toHaveProperty("code");
    }
  });

  it.each<[string, Partial<StandingChoice>, string]>([
    ["a tier below the question's", { tier: "user" }, "/tier"],
    ["a session the call does not have", { tier: "operator", session: "this" }, "/session"],
    ["an agent whose name means any", { tier: "operator" }, "/agent"],
    ["a range that is none", { tier: "operator", agent: "any", versions: "x.y" }, "/versions"],
    [
      "a pattern nobody understands",
      { tier: "operator", agent: "any", arguments: [{ pointer: "/a", match: {} }] },
      "/arguments/0",
    ],
    [
      "a pointer that is none",
      { tier: "operator", agent: "any", arguments: [{ pointer: "a", match: { equals: 1 } }] },
      "/arguments/0",
    ],
    ["nobody to answer for it", { tier: "operator", agent: "any", by: "" }, "/grantor"],
  ])("refuses %s (E3220)", (_what, change, path) => {
    const { session: _session, ...approval } = sampleApproval({ tier: "operator", agent: "*" });
    const answer = draftStanding(approval, {}, { ...choice, ...change });
    if (!isFailure(answer)) throw new Error("it was drafted");
    expect(answer.issues?.map((issue) => issue.path)).toContain(path);
  });

  it("one that has ended already is not kept", () => {
    expect(standingIssues(drafted({ until: NOON + 1 }), NOON + 1)).toEqual([
      { path: "/expiresAt", reason: "is not in the future" },
    ]);
  });
});
