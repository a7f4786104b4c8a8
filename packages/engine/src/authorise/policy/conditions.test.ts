import type { JsonObject } from "@sallyport/protocol";
import { describe, expect, it } from "vitest";
import { DOUBT, judged, MET, policyOf, UNMET } from "./fixtures/policies.ts";
import { completeCall, type PartialCall } from "./partial-call.ts";

type Row = [string, JsonObject, PartialCall, typeof MET];

const permissions = (given: Partial<NonNullable<PartialCall["permissions"]>>) => ({ permissions: given });
const fs = (...paths: string[]) =>
  permissions({ filesystem: paths.map((path) => ({ path, mode: "rw" as const })) });
const net = (...hosts: string[]) => permissions({ network: hosts.map((host) => ({ host })) });
const port80 = permissions({ network: [{ host: "a.example", port: 80 }] });
const etc = { paths: { inside: ["/etc"] } };
const etcByArgument = { paths: { inside: ["/etc"], arguments: ["/path"] } };
const prod = { arguments: { "/env": { equals: "prod" } } };

const ROWS: Row[] = [
  ["a tool by pattern", { tools: ["db.*"] }, { tool: "db.write" }, MET],
  ["another tool", { tools: "db.*" }, { tool: "dbx" }, UNMET],
  ["an operation", { operations: ["write"] }, { operation: "write" }, MET],
  ["an agent", { agents: ["did:agent:*"] }, { agent: "did:agent:7" }, MET],
  ["a user", { users: ["ann"] }, { user: "ann" }, MET],
  ["nobody", { users: ["*"] }, {}, UNMET],
  ["a verified user", { verifiedUsers: ["ann"] }, { user: "ann", userVerified: true }, MET],
  ["a user who is not verified", { verifiedUsers: ["ann"] }, { user: "ann" }, UNMET],
  ["a session", { sessions: ["s-*"] }, { session: "s-1" }, MET],
  ["another tenant", { tenants: ["acme"] }, { tenant: "other" }, UNMET],
  ["a version in the range", { versions: "^2" }, { version: "2.3.4" }, MET],
  ["a version outside", { versions: ["^1", "^3"] }, { version: "2.3.4" }, UNMET],
  ["a prerelease in the range", { versions: "^2" }, { version: "2.3.4-beta.1" }, DOUBT],
  ["a version that is none", { versions: "^2" }, { version: "two" }, DOUBT],
  ["a category", { categories: ["external_api"] }, { category: "external_api" }, MET],
  ["one of the tags", { tags: ["money", "mail"] }, { tags: ["mail"] }, MET],
  ["all of the tags", { tags: { all: ["money", "mail"] } }, { tags: ["mail"] }, UNMET],
  ["any and all of the tags", { tags: { any: ["x", "y"], all: ["m*"] } }, { tags: ["y", "mail"] }, MET],
  ["a risk of a list", { risk: ["high", "critical"] }, { risk: "medium" }, UNMET],
  ["a least risk", { risk: { min: "high" } }, { risk: "critical" }, MET],
  ["less than the least risk", { risk: { min: "high" } }, { risk: "medium" }, UNMET],
  ["side effects", { sideEffects: ["external"] }, { sideEffects: "external" }, MET],
  ["a source", { sources: ["mcp"] }, { source: "native" }, UNMET],
  ["weaker isolation", { isolation: { below: "LEVEL_2" } }, { isolation: "LEVEL_1" }, MET],
  ["a limit nobody holds", { unheldLimits: ["cpu", "memory"] }, { unheldLimits: ["memory", "disk"] }, MET],
  ["limits that are held", { unheldLimits: ["cpu", "memory"] }, { unheldLimits: ["disk"] }, UNMET],
  ["enough isolation", { isolation: { below: "LEVEL_2" } }, { isolation: "LEVEL_2" }, UNMET],
  ["the only capability", { capabilities: ["filesystem.*"] }, { capabilities: ["filesystem.read"] }, MET],
  ["one capability of two", { capabilities: ["fs.read"] }, { capabilities: ["fs.read", "spawn"] }, DOUBT],
  ["no capability", { capabilities: ["*"] }, {}, UNMET],
  ["a credential", { credentials: ["bank-*"] }, permissions({ credentials: ["bank-key"] }), MET],
  ["a permitted path", etc, fs("/etc/ssl"), MET],
  ["a permitted folder around it", etc, fs("/"), DOUBT],
  ["a permitted path elsewhere", etc, fs("/srv"), UNMET],
  ["one permitted path of two", etc, fs("/etc", "/srv"), DOUBT],
  ["no permitted path", etc, {}, UNMET],
  ["a permitted path nobody can read", etc, fs("$HOME\\x"), DOUBT],
  ["an argument before the permissions", etcByArgument, { ...fs("/"), input: { path: "/srv/x" } }, UNMET],
  ["the permissions where the argument is missing", etcByArgument, fs("/etc"), MET],
  ["a permitted host", { hosts: { hostIn: ["*.prod.example.com"] } }, net("db.prod.example.com"), MET],
  ["a permitted pattern around it", { hosts: { hostIn: ["db.example.com"] } }, net("*.example.com"), DOUBT],
  ["a permitted host elsewhere", { hosts: { hostIn: ["a.example"] } }, net("b.example"), UNMET],
  ["another port beside the host", { hosts: { hostIn: ["a.example:443"] } }, port80, UNMET],
  ["an argument", prod, { input: { env: "prod" } }, MET],
  ["one further in", { arguments: { "/a/0/b~1c": { exists: true } } }, { input: { a: [{ "b/c": 1 }] } }, MET],
  ["an argument that is not there", prod, {}, UNMET],
  ["a way through a text", { arguments: { "/a/b": { exists: false } } }, { input: { a: "x" } }, DOUBT],
  ["nothing inherited", { arguments: { "/constructor": { exists: true } } }, { input: {} }, UNMET],
  ["all arguments", { arguments: { "/a": { min: 1 }, "/b": { min: 4 } } }, { input: { a: 1, b: 3 } }, UNMET],
];

describe("the conditions of a rule [L3-PRM-2]", () => {
  it.each(ROWS)("%s", (_what, match, call, wanted) => expect(judged(match, call)).toEqual(wanted));

  it("have to hold all together", () => {
    const match = { tools: ["db.*"], operations: ["write"] };
    expect(judged(match, { tool: "db.x", operation: "write" })).toEqual(MET);
    expect(judged(match, { tool: "db.x", operation: "read" })).toEqual(UNMET);
  });
});

describe("an exception", () => {
  const unless = { arguments: { "/path": { inside: ["/srv"] } } };
  const outcome = (effect: string, input: JsonObject) =>
    policyOf([{ id: "r", effect, match: { tools: ["t"] }, unless }], {
      default: effect === "allow" ? "deny" : "allow",
    }).decide(completeCall({ tool: "t", input })).outcome;

  it.each<[string, string, JsonObject, string]>([
    ["lifts a ban where it holds", "deny", { path: "/srv/x" }, "allow"],
    ["lifts a permission where it holds", "allow", { path: "/srv/x" }, "deny"],
    ["leaves a ban where it does not hold", "deny", { path: "/etc" }, "deny"],
    ["leaves a permission where it does not hold", "allow", { path: "/etc" }, "allow"],
    ["leaves a permission where the argument is missing", "allow", {}, "allow"],
    ["in doubt lifts no ban", "deny", { path: "../x" }, "deny"],
    ["in doubt answers no question", "ask", { path: 5 }, "ask"],
    ["in doubt lifts a permission", "allow", { path: "../x" }, "deny"],
  ])("%s", (_what, effect, input, wanted) => expect(outcome(effect, input)).toBe(wanted));
});

describe("a code", () => {
  const deny = (match: JsonObject, call: PartialCall) =>
    policyOf([{ id: "r", effect: "deny", match }], { default: "allow" }).decide(completeCall(call)).code;

  it("says whether files, the network or credentials were denied [L3-PRM-2]", () => {
    expect(deny(etc, fs("/etc"))).toBe("E3203");
    expect(deny({ hosts: { hostIn: ["a.example"] } }, net("a.example"))).toBe("E3204");
    expect(deny({ credentials: ["*"] }, permissions({ credentials: ["k"] }))).toBe("E3205");
    expect(deny({ tools: ["t"] }, { tool: "t" })).toBe("E3225");
  });
});

const at = (time: string) => ({ at: Date.parse(time) });
const night = { time: { from: "22:00", to: "06:00" } };
const fridayNight = { time: { from: "22:00", to: "06:00", days: ["fri"] } };
const berlinMorning = { time: { from: "09:00", to: "10:00", zone: "Europe/Berlin" } };

describe("a time condition", () => {
  it.each<[JsonObject, string, typeof MET]>([
    [{ time: { from: "09:00", to: "17:00" } }, "2026-01-07T09:00:00Z", MET],
    [{ time: { from: "09:00", to: "17:00" } }, "2026-01-07T16:59:59Z", MET],
    [{ time: { from: "09:00", to: "17:00" } }, "2026-01-07T17:00:00Z", UNMET],
    [night, "2026-01-07T23:30:00Z", MET],
    [night, "2026-01-07T05:59:00Z", MET],
    [night, "2026-01-07T06:00:00Z", UNMET],
    [{ time: { days: ["sat", "sun"] } }, "2026-01-10T12:00:00Z", MET],
    [{ time: { days: ["sat", "sun"] } }, "2026-01-12T00:00:00Z", UNMET],
    [{ time: { from: "22:00", to: "24:00" } }, "2026-01-07T23:59:00Z", MET],
    // A night belongs to the day on which it begins.
    [fridayNight, "2026-01-09T23:00:00Z", MET],
    [fridayNight, "2026-01-10T05:00:00Z", MET],
    [fridayNight, "2026-01-09T05:00:00Z", UNMET],
    // By the clock of the zone, summer time included.
    [berlinMorning, "2026-01-07T08:30:00Z", MET],
    [berlinMorning, "2026-07-07T08:30:00Z", UNMET],
    [berlinMorning, "2026-07-07T07:30:00Z", MET],
  ])("%j at %s", (match, time, wanted) => expect(judged(match, at(time))).toEqual(wanted));

  it("is in doubt about a time that is none", () => {
    expect(judged(night, { at: Number.NaN })).toEqual(DOUBT);
  });

  it("keeps the verdicts it can change from being remembered, and only those [L3-PRM-3]", () => {
    const policy = policyOf([
      { id: "night", effect: "deny", match: { tools: ["a"], ...night } },
      { id: "b", effect: "allow", match: { tools: ["b"] } },
    ]);
    expect(policy.decide(completeCall({ tool: "a" })).cacheMs).toBe(0);
    expect(policy.decide(completeCall({ tool: "b" })).cacheMs).toBeUndefined();
  });
});
