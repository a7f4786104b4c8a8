import { describe, expect, it } from "vitest";
import type { Policy, PolicyVerdict } from "../../ports/policy.ts";
import { askAll } from "./ask-all.ts";
import { completeCall } from "./partial-call.ts";

const allow: PolicyVerdict = {
  outcome: "allow",
  reason: "fine",
  rules: ["r"],
  policyVersion: "1",
  tier: "operator",
};
const policy = (decide: () => unknown): Policy => ({ name: "p", decide: () => decide() as PolicyVerdict });
const request = completeCall({});
const ask = (...decides: (() => unknown)[]) => askAll(decides.map(policy), request, { timeoutMs: 30 });

describe("asking every policy", () => {
  it("answers at once when all of them do", () => {
    expect(ask(() => allow)).toEqual(allow);
    expect(
      ask(
        () => allow,
        () => ({ ...allow, outcome: "ask" }),
      ),
    ).toMatchObject({ outcome: "ask" });
  });

  it("waits for the slow ones and takes the strictest", async () => {
    const answer = ask(
      () => allow,
      async () => ({ ...allow, outcome: "deny", reason: "late no" }),
    );
    expect(answer).toBeInstanceOf(Promise);
    expect(await answer).toMatchObject({ outcome: "deny", reason: "late no", policyVersion: "1+1" });
  });

  it.each<[string, () => unknown]>([
    ["throws", () => raise()],
    ["rejects", async () => raise()],
    ["does not answer in time", () => new Promise(() => undefined)],
    ["answers nothing", () => undefined],
    ["answers an unknown outcome", () => ({ ...allow, outcome: "yes" })],
    ["answers an unknown tier", async () => ({ ...allow, tier: "king" })],
    ["answers rules that are none", () => ({ ...allow, rules: [1] })],
    ["answers half a character", () => ({ ...allow, reason: "\ud800" })],
    ["answers half a character elsewhere", () => ({ ...allow, unlock: "\ud800" })],
    ["answers a code nobody knows", () => ({ ...allow, outcome: "deny", code: "E9999" })],
  ])("denies with E3206 when one %s [L3-PRM-2]", async (_what, decide) => {
    const verdict = await ask(() => allow, decide);
    expect(verdict).toMatchObject({ outcome: "deny", code: "E3206", reason: "policy p could not be asked" });
    expect(verdict.cacheMs).toBe(0);
  });

  it("tells the operator why and the caller not", async () => {
    const problems: unknown[] = [];
    const onProblem = (name: string, error: unknown) => problems.push([name, String(error)]);
    const verdict = await askAll([policy(() => raise())], request, { onProblem });
    expect(problems).toEqual([["p", "Error: the key is hunter2"]]);
    expect(JSON.stringify(verdict)).not.toContain("hunter2");
  });

  it("gives up on a policy after half a second when nothing else is said [L3-PRM-2]", async () => {
    const started = performance.now();
    const verdict = await askAll([policy(() => new Promise(() => undefined))], request);
    expect(verdict.code).toBe("E3206");
    expect(performance.now() - started).toBeGreaterThan(450);
  });

  it("denies when there is no policy", () => expect(ask()).toMatchObject({ outcome: "deny" }));
});

function raise(): never {
  throw new Error("the key is hunter2");
}
