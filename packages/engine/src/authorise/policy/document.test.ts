import { type Failure, isFailure, type JsonObject } from "@sallyport/protocol";
import { describe, expect, it } from "vitest";
import { type CompiledPolicy, compilePolicy } from "./document.ts";
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

const MATCHED = completeCall({ tool: "db.main", operation: "write", input: { env: "prod" } });

const compile = (document: unknown) => compilePolicy(document, { name: "test" });
const withRule = (change: JsonObject) => ({ version: 1, rules: [{ ...RULE, ...change }] });

function compiled(document: unknown): CompiledPolicy {
  const policy = compile(document);
  if (isFailure(policy)) throw new Error(JSON.stringify(policy));
  return policy;
}

function refusal(document: unknown): Failure {
  const answer = compile(document);
  if (!isFailure(answer)) throw new Error("the document should be refused");
  return answer;
}

describe("a rules document", () => {
  it("becomes a policy that lists its rules and has a version of its own", () => {
    const policy = compiled({ version: 1, tier: "organisation", default: "ask", rules: [RULE] });
    expect(policy).toMatchObject({ name: "test", tier: "organisation", defaultEffect: "ask" });
    expect(policy.rules).toEqual([
      { id: RULE.id, effect: "deny", reason: RULE.reason, examples: { match: 1, not: 1 } },
    ]);
    expect(compiled(withRule({ reason: "another" })).version).not.toBe(policy.version);
  });

  it("denies what no rule speaks of, unless it says otherwise [L3-PRM-2]", () => {
    const outcome = (rest: JsonObject) => policyOf([], rest).decide(completeCall({})).outcome;
    const outcomes = [outcome({}), outcome({ default: "ask" }), outcome({ default: "allow" })];
    expect(outcomes).toEqual(["deny", "ask", "allow"]);
    const { rules, code, unlock } = policyOf([]).decide(completeCall({ tool: "t" }));
    expect({ rules, code }).toEqual({ rules: [], code: undefined });
    expect(unlock).toContain("allows t");
  });

  it("lets the strictest matching rule win whatever the order, and names all of its kind [L3-PRM-2]", () => {
    const effects = ["allow", "ask", "deny", "deny"];
    const rules = effects.map((effect, index) => ({ id: `r${index}`, effect, match: { tools: ["t"] } }));
    const decide = (some: JsonObject[]) => policyOf(some).decide(completeCall({ tool: "t" }));
    for (const order of [rules, rules.toReversed()]) expect(decide(order).outcome).toBe("deny");
    expect(decide(rules).rules).toEqual(["r2", "r3"]);
    expect(decide(rules.slice(0, 2))).toMatchObject({ outcome: "ask", rules: ["r1"] });
  });

  it("lets a question be put after a try-out, and nothing but a question", () => {
    const policy = compiled(withRule({ effect: "ask", preview: true }));
    expect(policy.decide(MATCHED)).toMatchObject({ outcome: "ask", preview: true });
    expect(refusal(withRule({ preview: true })).issues?.[0]?.reason).toContain("whose effect is ask");
    expect(refusal(withRule({ effect: "ask", preview: "yes" })).issues).toHaveLength(1);
  });

  it("tells which argument decided, what would unlock it and what is near", () => {
    const more = { unlock: "Open a change ticket.", nearest: "Write to staging." };
    const policy = compiled(withRule(more));
    expect(policy.decide(MATCHED)).toEqual({
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
  it("is told that the arguments of an example are its input", () => {
    const { issues } = refusal(withRule({ examples: { match: [{ tool: "x", arguments: {} }], not: [{}] } }));
    const suggestion = 'did you mean "input"?';
    expect(issues).toContainEqual(
      expect.objectContaining({ path: "/rules/0/examples/match/0/arguments", suggestion }),
    );
  });

  function expectIssue(document: unknown, path: string, reason: RegExp): void {
    const { code, issues } = refusal(document);
    expect(code).toBe("E3223");
    expect(issues).toContainEqual(expect.objectContaining({ path, reason: expect.stringMatching(reason) }));
  }

  it.each<[string, unknown, string, RegExp]>([
    ["no object", [], "", /must be an object/],
    ["no JSON", { version: 1, rules: [() => 1] }, "/rules/0", /JSON value/],
    ["no version", { rules: [] }, "/version", /must be 1/],
    ["an unknown key", { version: 1, rule: [] }, "/rule", /unknown key/],
    ["an unknown tier", { version: 1, tier: "king" }, "/tier", /one of user/],
    ["an unknown default", { version: 1, default: "maybe" }, "/default", /one of deny/],
    ["rules that are no list", { version: 1, rules: {} }, "/rules", /list/],
    ["too many rules", { version: 1, rules: Array(10_001).fill(RULE) }, "/rules", /at most 10000/],
    ["the same id twice", { version: 1, rules: [RULE, RULE] }, "/rules/1/id", /taken/],
  ])("%s", (_what, document, path, reason) => expectIssue(document, path, reason));

  it.each<[JsonObject, string, RegExp]>([
    [{ id: "" }, "/id", /name/],
    [{ effect: "permit" }, "/effect", /one of deny/],
    [{ match: { tool: ["x"] } }, "/match/tool", /unknown key/],
    [{ match: {} }, "/match", /must have a condition/],
    [{ match: { tools: [] } }, "/match/tools", /empty/],
    [{ match: { risk: ["hihg"] } }, "/match/risk/0", /one of low/],
    [{ match: { versions: "two" } }, "/match/versions", /version range/],
    [{ match: { arguments: { env: { exists: true } } } }, "/match/arguments/env", /JSON Pointer/],
    [{ match: { arguments: { "/e": { is: 1 } } } }, "/match/arguments/~1e/is", /unknown key/],
    [{ match: { time: { from: "25:00" } } }, "/match/time/from", /time of day/],
    [{ match: { time: { zone: "Mars" } } }, "/match/time/zone", /time zone/],
    [{ unless: { paths: { inside: ["../x"] } } }, "/unless/paths/inside/0", /plain path/],
    [{ match: { isolation: { below: "LEVEL_9" } } }, "/match/isolation/below", /one of LEVEL_0/],
    [{ examples: null }, "/examples", /must be an object/],
    [{ examples: { match: [{ tol: "x" }], not: [{}] } }, "/examples/match/0/tol", /unknown key/],
    [{ examples: { match: [{ at: "later" }], not: [{}] } }, "/examples/match/0/at", /a time/],
  ])("a rule with %j, at %s", (change, path, reason) =>
    expectIssue(withRule(change), `/rules/0${path}`, reason),
  );

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
    const why = '/match/arguments/~1env does not hold (found "dev")';
    const reason = `rule "no-prod-writes" does not match this example: ${why}`;
    expect(issues).toEqual([{ path: "/rules/0/examples/match/0", reason }]);
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
});

describe("explaining a decision", () => {
  const policy = policyOf([
    { id: "prod", effect: "deny", match: { tools: ["db.*"], arguments: { "/env": { equals: "prod" } } } },
    {
      id: "etc",
      effect: "deny",
      match: { arguments: { "/path": { inside: ["/etc"] } } },
      unless: { users: ["root"] },
    },
    { id: "mine", effect: "allow", match: { tools: ["db.*"] }, unless: { agents: ["bad-*"] } },
    { id: "secret", effect: "ask", match: { arguments: { "/password": { equals: "x" } } } },
  ]);

  const because = (rules: ReturnType<typeof policy.explain>["rules"]) =>
    Object.fromEntries(rules.map(({ id, applies, because: why }) => [id, [applies, why?.holds, why?.text]]));

  it("gives each rule, whether it applies and the first condition that says so", () => {
    const explained = policy.explain(completeCall({ tool: "db.x", input: { env: "dev", path: "/srv" } }));
    expect(explained.verdict).toMatchObject({ outcome: "allow", rules: ["mine"] });
    expect(explained.default).toBe("deny");
    expect(because(explained.rules)).toEqual({
      prod: [false, "no", '/match/arguments/~1env does not hold (found "dev")'],
      etc: [false, "no", '/match/arguments/~1path does not hold (found "/srv")'],
      mine: [true, "yes", '/match/tools holds (found "db.x")'],
      secret: [false, "no", "/match/arguments/~1password does not hold (nothing there)"],
    });
  });

  it("says where a doubt was settled the strict way", () => {
    const { verdict, rules } = policy.explain(completeCall({ tool: "db.x", input: { path: "../x" } }));
    expect(verdict).toMatchObject({ outcome: "deny", rules: ["etc"] });
    expect(because(rules).etc).toEqual([true, "doubt", expect.stringContaining("cannot be judged")]);
  });

  it("says when it was the exception", () => {
    const { rules } = policy.explain(completeCall({ tool: "db.x", agent: "bad-1" }));
    expect(because(rules).mine).toEqual([false, "yes", '/unless holds (/unless/agents: found "bad-1")']);
    const doubted = policy.explain(completeCall({ tool: "db.x", user: "root", input: { path: "../x" } }));
    expect(because(doubted.rules).etc).toEqual([false, "yes", '/unless holds (/unless/users: found "root")']);
  });

  it("shows no secret and no endless value", () => {
    const input = { password: "hunter2", env: "e".repeat(5_000) };
    const text = JSON.stringify(policy.explain(completeCall({ tool: "db.x", input })));
    expect(text).not.toContain("hunter2");
    expect(text).toContain("[REDACTED]");
    expect(text.length).toBeLessThan(3_000);
  });
});
