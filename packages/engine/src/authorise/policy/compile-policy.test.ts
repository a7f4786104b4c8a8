import { type Failure, isFailure, type JsonObject } from "@sallyport/protocol";
import { describe, expect, it } from "vitest";
import { compilePolicy } from "./compile-policy.ts";
import { policyOf } from "./fixtures/policies.ts";
import { completeCall } from "./partial-call.ts";

const RULE = {
  id: "no-prod-writes",
  effect: "deny",
  reason: "Writes to production need a change ticket.",
  match: { tools: ["db.*"], operations: ["write"], arguments: { "/env": { equals: "prod" } } },
  examples: {
    match: [{ tool: "db.main", operation: "write", input: { env: "prod" } }],
    not: [{ tool: "db.main", operation: "read", input: { env: "prod" } }],
  },
};

const compile = (document: unknown) => compilePolicy(document, { name: "test" });
const withRule = (change: JsonObject) => ({ version: 1, rules: [{ ...RULE, ...change }] });

function refusal(document: unknown): Failure {
  const answer = compile(document);
  if (!isFailure(answer)) throw new Error("the document should be refused");
  return answer;
}

describe("a rules document", () => {
  it("becomes a policy that lists its rules and has a version of its own", () => {
    const policy = compile({ version: 1, tier: "organisation", default: "ask", rules: [RULE] });
    if (isFailure(policy)) throw new Error(JSON.stringify(policy));
    expect(policy).toMatchObject({ name: "test", tier: "organisation", defaultEffect: "ask" });
    expect(policy.rules).toEqual([
      { id: RULE.id, effect: "deny", reason: RULE.reason, examples: { match: 1, not: 1 } },
    ]);
    const other = compile(withRule({ reason: "another" }));
    expect(isFailure(other) ? "" : other.version).not.toBe(policy.version);
  });

  it("denies what no rule speaks of, unless it says otherwise [L3-PRM-2]", () => {
    const outcome = (rest: JsonObject) => policyOf([], rest).decide(completeCall({})).outcome;
    expect([outcome({}), outcome({ default: "ask" }), outcome({ default: "allow" })]).toEqual([
      "deny",
      "ask",
      "allow",
    ]);
    const { rules, code, unlock } = policyOf([]).decide(completeCall({ tool: "t" }));
    expect({ rules, code }).toEqual({ rules: [], code: undefined });
    expect(unlock).toContain("allows t");
  });

  it("lets the strictest matching rule win whatever the order, and names all of its kind [L3-PRM-2]", () => {
    const rules = ["allow", "ask", "deny", "deny"].map((effect, index) => ({
      id: `r${index}`,
      effect,
      match: { tools: ["t"] },
    }));
    const decide = (some: JsonObject[]) => policyOf(some).decide(completeCall({ tool: "t" }));
    for (const order of [rules, rules.toReversed()]) expect(decide(order).outcome).toBe("deny");
    expect(decide(rules).rules).toEqual(["r2", "r3"]);
    expect(decide(rules.slice(0, 2))).toMatchObject({ outcome: "ask", rules: ["r1"] });
  });

  it("lets a question be put after a try-out, and nothing but a question", () => {
    const policy = compile(withRule({ effect: "ask", preview: true }));
    if (isFailure(policy)) throw new Error(JSON.stringify(policy));
    const request = completeCall({ tool: "db.x", operation: "write", input: { env: "prod" } });
    expect(policy.decide(request)).toMatchObject({ outcome: "ask", preview: true });
    expect(refusal(withRule({ preview: true })).issues?.[0]?.reason).toContain("whose effect is ask");
    expect(refusal(withRule({ effect: "ask", preview: "yes" })).issues).toHaveLength(1);
  });

  it("tells which argument decided, what would unlock it and what is near", () => {
    const more = { unlock: "Open a change ticket.", nearest: "Write to staging." };
    const policy = compile(withRule(more));
    if (isFailure(policy)) throw new Error(JSON.stringify(policy));
    const request = completeCall({ tool: "db.x", operation: "write", input: { env: "prod" } });
    expect(policy.decide(request)).toEqual({
      outcome: "deny",
      reason: RULE.reason,
      rules: [RULE.id],
      policyVersion: policy.version,
      tier: "operator",
      code: "E3225",
      argument: "/env",
      ...more,
    });
  });
});

describe("a wrong rules document is refused with every wrong place (E3223)", () => {
  it.each<[string, unknown, string, RegExp]>([
    ["no object", [], "", /must be an object/],
    ["no JSON", { version: 1, rules: [() => 1] }, "/rules/0", /JSON value/],
    ["no version", { rules: [] }, "/version", /must be 1/],
    ["an unknown key", { version: 1, rule: [] }, "/rule", /unknown key/],
    ["an unknown tier", { version: 1, tier: "king" }, "/tier", /one of user/],
    ["an unknown default", { version: 1, default: "maybe" }, "/default", /one of deny/],
    ["rules that are no list", { version: 1, rules: {} }, "/rules", /list/],
    ["too many rules", { version: 1, rules: Array(10_001).fill(RULE) }, "/rules", /at most 10000/],
    ["a rule without an id", withRule({ id: "" }), "/rules/0/id", /name/],
    ["the same id twice", { version: 1, rules: [RULE, RULE] }, "/rules/1/id", /taken/],
    ["an unknown effect", withRule({ effect: "permit" }), "/rules/0/effect", /one of deny/],
    ["an unknown condition", withRule({ match: { tool: ["x"] } }), "/rules/0/match/tool", /unknown key/],
    ["no condition", withRule({ match: {} }), "/rules/0/match", /must have a condition/],
    ["an empty list", withRule({ match: { tools: [] } }), "/rules/0/match/tools", /empty/],
    ["an unknown risk", withRule({ match: { risk: ["hihg"] } }), "/rules/0/match/risk/0", /one of low/],
    ["a bad range", withRule({ match: { versions: "two" } }), "/rules/0/match/versions", /version range/],
    [
      "a bad pointer",
      withRule({ match: { arguments: { env: { exists: true } } } }),
      "/rules/0/match/arguments/env",
      /JSON Pointer/,
    ],
    [
      "a bad test",
      withRule({ match: { arguments: { "/e": { is: 1 } } } }),
      "/rules/0/match/arguments/~1e/is",
      /unknown key/,
    ],
    [
      "a bad time",
      withRule({ match: { time: { from: "25:00" } } }),
      "/rules/0/match/time/from",
      /time of day/,
    ],
    ["a bad zone", withRule({ match: { time: { zone: "Mars" } } }), "/rules/0/match/time/zone", /time zone/],
    [
      "a bad path",
      withRule({ unless: { paths: { inside: ["../x"] } } }),
      "/rules/0/unless/paths/inside/0",
      /plain path/,
    ],
    [
      "a bad level",
      withRule({ match: { isolation: { below: "LEVEL_9" } } }),
      "/rules/0/match/isolation/below",
      /one of LEVEL_0/,
    ],
    ["no examples", withRule({ examples: null }), "/rules/0/examples", /must be an object/],
    [
      "an example with an unknown key",
      withRule({ examples: { match: [{ tol: "x" }], not: [{}] } }),
      "/rules/0/examples/match/0/tol",
      /unknown key/,
    ],
    [
      "an example at no time",
      withRule({ examples: { match: [{ at: "later" }], not: [{}] } }),
      "/rules/0/examples/match/0/at",
      /a time/,
    ],
  ])("%s", (_what, document, path, reason) => {
    const { code, issues } = refusal(document);
    expect(code).toBe("E3223");
    expect(issues).toContainEqual(expect.objectContaining({ path, reason: expect.stringMatching(reason) }));
  });

  it("suggests the key that was probably meant", () => {
    const [issue] = refusal(withRule({ match: { tool: ["x"] } })).issues ?? [];
    expect(issue?.suggestion).toBe('did you mean "tools"?');
  });

  it("asks a deny for its reason, and an allow not", () => {
    const { reason: _reason, ...bare } = RULE;
    expect(refusal({ version: 1, rules: [bare] }).issues?.[0]?.reason).toContain("must give a reason");
    expect(isFailure(compile({ version: 1, rules: [{ ...bare, effect: "allow" }] }))).toBe(false);
  });

  it("names all wrong places at once, and at most a hundred", () => {
    expect(refusal(withRule({ id: "", effect: "x", match: { a: 1 } })).issues).toHaveLength(3);
    const many = Array.from({ length: 500 }, () => ({ ...RULE, effect: "x" }));
    expect(refusal({ version: 1, rules: many }).issues).toHaveLength(100);
  });

  it("does not follow a document that contains itself", () => {
    const document: Record<string, unknown> = { version: 1 };
    document.rules = [document];
    expect(refusal(document).issues?.[0]?.reason).toContain("a cycle");
  });
});

describe("the examples of a rule", () => {
  it("must exist, of both kinds", () => {
    const { issues } = refusal(withRule({ examples: { match: RULE.examples.match } }));
    expect(issues).toEqual([
      { path: "/rules/0/examples", reason: 'rule "no-prod-writes" needs an example under "not"' },
    ]);
  });

  it("fail the load when the rule does not match one it should, naming rule and condition", () => {
    const example = { tool: "db.main", operation: "write", input: { env: "dev" } };
    const { issues } = refusal(withRule({ examples: { ...RULE.examples, match: [example] } }));
    expect(issues).toEqual([
      {
        path: "/rules/0/examples/match/0",
        reason:
          'rule "no-prod-writes" does not match this example: /match/arguments/~1env does not hold (found "dev")',
      },
    ]);
  });

  it("fail the load when the rule matches one it should not", () => {
    const { issues } = refusal(withRule({ examples: { ...RULE.examples, not: RULE.examples.match } }));
    expect(issues?.[0]?.reason).toContain('rule "no-prod-writes" matches this example: ');
    expect(issues?.[0]?.path).toBe("/rules/0/examples/not/0");
  });

  it("say so when the exception stands in the way", () => {
    const { issues } = refusal(withRule({ unless: { tenants: ["example"] } }));
    expect(issues?.[0]?.reason).toContain('/unless holds (/unless/tenants: found "example")');
  });
});

describe("a policy of many rules", () => {
  it("finds the same rules for a tool whenever it is asked, also after many others", () => {
    const rules = Array.from({ length: 1_000 }, (_, index) => ({
      id: `r${index}`,
      effect: "deny",
      match: { tools: [index === 500 ? "wanted" : `*${index}*`] },
    }));
    const policy = policyOf(rules, { default: "allow" });
    const wanted = completeCall({ tool: "wanted" });
    const before = policy.decide(wanted).rules;
    for (let index = 0; index < 3_000; index += 1) policy.decide(completeCall({ tool: `t${index}` }));
    expect(before).toEqual(["r500"]);
    expect(policy.decide(wanted).rules).toEqual(before);
  });

  it("decides about one tool in microseconds, however many rules are about others", () => {
    const rules = Array.from({ length: 200 }, (_, index) => ({
      id: `r${index}`,
      effect: (["deny", "ask", "allow"] as const)[index % 3] ?? "deny",
      match: { tools: [index % 10 === 0 ? "*" : `tool-${index}`], arguments: { "/n": { equals: index } } },
    }));
    const policy = policyOf(rules);
    const request = completeCall({ tool: "tool-7", input: { n: -1 } });
    const times = Array.from({ length: 3_000 }, () => {
      const started = performance.now();
      policy.decide(request);
      return performance.now() - started;
    });
    const median = times.sort((a, b) => a - b)[1_500] ?? Number.POSITIVE_INFINITY;
    // The aim is 0.01 ms; the rest is room for a busy machine.
    expect(median).toBeLessThan(0.1);
  });
});
