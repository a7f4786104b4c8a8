import type { JsonObject } from "@sallyport/protocol";
import { describe, expect, it } from "vitest";
import { DOUBT, judged, MET, policyOf, UNMET } from "./fixtures/policies.ts";
import { completeCall, type PartialCall } from "./partial-call.ts";

type Row = [string, JsonObject, PartialCall, typeof MET];

const permissions = (given: Partial<NonNullable<PartialCall["permissions"]>>) => ({ permissions: given });
const fs = (...paths: string[]) =>
  permissions({ filesystem: paths.map((path) => ({ path, mode: "rw" as const })) });
const net = (...hosts: string[]) => permissions({ network: hosts.map((host) => ({ host })) });

const ROWS: Row[] = [
  ["a tool by pattern", { tools: ["db.*"] }, { tool: "db.write" }, MET],
  ["another tool", { tools: "db.*" }, { tool: "dbx" }, UNMET],
  ["an operation", { operations: ["write"] }, { operation: "write" }, MET],
  ["an agent", { agents: ["did:agent:*"] }, { agent: "did:agent:7" }, MET],
  ["a user", { users: ["ann"] }, { user: "ann" }, MET],
  ["nobody", { users: ["*"] }, {}, UNMET],
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
  ["enough isolation", { isolation: { below: "LEVEL_2" } }, { isolation: "LEVEL_2" }, UNMET],
  ["the only capability", { capabilities: ["filesystem.*"] }, { capabilities: ["filesystem.read"] }, MET],
  [
    "one capability of two",
    { capabilities: ["filesystem.read"] },
    { capabilities: ["filesystem.read", "process.spawn"] },
    DOUBT,
  ],
  ["no capability", { capabilities: ["*"] }, {}, UNMET],
  ["a credential", { credentials: ["bank-*"] }, permissions({ credentials: ["bank-key"] }), MET],
  ["a permitted path", { paths: { inside: ["/etc"] } }, fs("/etc/ssl"), MET],
  ["a permitted folder around it", { paths: { inside: ["/etc"] } }, fs("/"), DOUBT],
  ["a permitted path elsewhere", { paths: { inside: ["/etc"] } }, fs("/srv"), UNMET],
  ["one permitted path of two", { paths: { inside: ["/etc"] } }, fs("/etc", "/srv"), DOUBT],
  ["no permitted path", { paths: { inside: ["/etc"] } }, {}, UNMET],
  ["a permitted path nobody can read", { paths: { inside: ["/etc"] } }, fs("$HOME\\x"), DOUBT],
  [
    "an argument in place of the permissions",
    { paths: { inside: ["/etc"], arguments: ["/path"] } },
    { ...fs("/"), input: { path: "/srv/x" } },
    UNMET,
  ],
  [
    "the permissions where the argument is missing",
    { paths: { inside: ["/etc"], arguments: ["/path"] } },
    fs("/etc"),
    MET,
  ],
  ["a permitted host", { hosts: { hostIn: ["*.prod.example.com"] } }, net("db.prod.example.com"), MET],
  ["a permitted pattern around it", { hosts: { hostIn: ["db.example.com"] } }, net("*.example.com"), DOUBT],
  ["a permitted host elsewhere", { hosts: { hostIn: ["a.example"] } }, net("b.example"), UNMET],
  [
    "a permitted port beside the host",
    { hosts: { hostIn: ["a.example:443"] } },
    permissions({ network: [{ host: "a.example", port: 80 }] }),
    UNMET,
  ],
  ["an argument", { arguments: { "/env": { equals: "prod" } } }, { input: { env: "prod" } }, MET],
  [
    "an argument further in",
    { arguments: { "/a/0/b~1c": { exists: true } } },
    { input: { a: [{ "b/c": 1 }] } },
    MET,
  ],
  ["an argument that is not there", { arguments: { "/env": { equals: "prod" } } }, {}, UNMET],
  [
    "a way through a text",
    { arguments: { "/target/host": { exists: false } } },
    { input: { target: "x" } },
    DOUBT,
  ],
  ["nothing inherited", { arguments: { "/constructor": { exists: true } } }, { input: {} }, UNMET],
  [
    "all arguments",
    { arguments: { "/a": { equals: 1 }, "/b": { equals: 2 } } },
    { input: { a: 1, b: 3 } },
    UNMET,
  ],
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

  it("lifts the rule where it holds", () => {
    expect(outcome("deny", { path: "/srv/x" })).toBe("allow");
    expect(outcome("allow", { path: "/srv/x" })).toBe("deny");
  });

  it("does not where it does not", () => {
    expect(outcome("deny", { path: "/etc" })).toBe("deny");
    expect(outcome("allow", { path: "/etc" })).toBe("allow");
    expect(outcome("allow", {})).toBe("allow");
  });

  it("is in doubt taken the strict way: no exception from a ban, one from a permission", () => {
    expect(outcome("deny", { path: "../x" })).toBe("deny");
    expect(outcome("ask", { path: 5 })).toBe("ask");
    expect(outcome("allow", { path: "../x" })).toBe("deny");
  });
});

describe("a code", () => {
  const deny = (match: JsonObject, call: PartialCall) =>
    policyOf([{ id: "r", effect: "deny", match }], { default: "allow" }).decide(completeCall(call)).code;

  it("says whether files, the network or credentials were denied [L3-PRM-2]", () => {
    expect(deny({ paths: { inside: ["/etc"] } }, fs("/etc"))).toBe("E3203");
    expect(deny({ hosts: { hostIn: ["a.example"] } }, net("a.example"))).toBe("E3204");
    expect(deny({ credentials: ["*"] }, permissions({ credentials: ["k"] }))).toBe("E3205");
    expect(deny({ tools: ["t"] }, { tool: "t" })).toBe("E3225");
  });
});
