import { describe, expect, it } from "vitest";
import { policyOf } from "./fixtures/policies.ts";
import { completeCall } from "./partial-call.ts";

const policy = policyOf([
  { id: "prod", effect: "deny", match: { tools: ["db.*"], arguments: { "/env": { equals: "prod" } } } },
  { id: "etc", effect: "deny", match: { arguments: { "/path": { inside: ["/etc"] } } } },
  { id: "mine", effect: "allow", match: { tools: ["db.*"] }, unless: { agents: ["bad-*"] } },
  { id: "secret", effect: "ask", match: { arguments: { "/password": { equals: "x" } } } },
]);

const because = (rules: ReturnType<typeof policy.explain>["rules"]) =>
  Object.fromEntries(rules.map(({ id, applies, because: why }) => [id, [applies, why?.holds, why?.text]]));

describe("explaining a decision", () => {
  it("gives each rule, whether it applies and the first condition that says so", () => {
    const {
      verdict,
      rules,
      default: otherwise,
    } = policy.explain(completeCall({ tool: "db.x", input: { env: "dev", path: "/srv" } }));
    expect(verdict).toMatchObject({ outcome: "allow", rules: ["mine"] });
    expect(otherwise).toBe("deny");
    expect(because(rules)).toEqual({
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
  });

  it("shows no secret and no endless value", () => {
    const input = { password: "hunter2", env: "e".repeat(5_000) };
    const text = JSON.stringify(policy.explain(completeCall({ tool: "db.x", input })));
    expect(text).not.toContain("hunter2");
    expect(text).toContain("[REDACTED]");
    expect(text.length).toBeLessThan(3_000);
  });
});
