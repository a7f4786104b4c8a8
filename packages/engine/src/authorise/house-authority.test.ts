import { describe, expect, it } from "vitest";
import type { Policy, PolicyVerdict } from "../ports/policy.ts";
import { authorityRequest } from "../testing/authority-request.ts";
import type { ConfiguredGrant } from "./grants.ts";
import { HouseAuthority } from "./house-authority.ts";

const EVERYONE = { tenants: ["*"], agents: ["*"], tools: ["*"], operations: ["*"] };
const READING: ConfiguredGrant = { id: "reading", ...EVERYONE, capabilities: ["filesystem.read"] };
const request = authorityRequest();
const approach = { caller: request.caller, tool: request.tool, at: request.at };

/** A policy that answers when it is told to. */
function slowPolicy(): Policy & { answer(verdict: Pick<PolicyVerdict, "outcome">): void } {
  const { promise, resolve } = Promise.withResolvers<PolicyVerdict>();
  return {
    name: "slow",
    decide: () => promise,
    answer: ({ outcome }) =>
      resolve({ outcome, reason: "so", rules: ["slow"], policyVersion: "1", tier: "operator" }),
  };
}

const denying: Policy = {
  name: "denying",
  decide: () => ({ outcome: "deny", reason: "no", rules: ["no"], policyVersion: "2", tier: "operator" }),
};

describe("an authority that adopts the rules of another", () => {
  it("decides by them from then on, and by nothing of its own", async () => {
    const authority = new HouseAuthority({ grants: [] });
    expect(authority.stranger(approach)).toMatchObject({ code: "E3209" });
    expect(await authority.decide(request)).toMatchObject({ outcome: "deny" });
    authority.adopt(new HouseAuthority({ grants: [READING] }));
    expect(authority.stranger(approach)).toBeUndefined();
    expect(await authority.decide(request)).toMatchObject({ outcome: "allow", rules: ["reading"] });
    authority.adopt(new HouseAuthority({ grants: [READING], policies: [denying] }));
    expect(await authority.decide(request)).toMatchObject({ outcome: "deny", rules: ["no"] });
    const profile = { agents: ["*"], tenants: ["*"], clearance: 0, roles: [] };
    authority.adopt(new HouseAuthority({ grants: [READING], agents: [profile] }));
    expect(await authority.decide({ ...request, securityLevel: 1 })).toMatchObject({ code: "E3218" });
  });

  it("says that they are others", async () => {
    const authority = new HouseAuthority({ grants: [READING] });
    const before = await authority.decide(request);
    authority.adopt(new HouseAuthority({ grants: [{ ...READING, id: "other" }] }));
    expect((await authority.decide(request)).policyVersion).not.toBe(before.policyVersion);
  });

  it("never mixes old and new in one decision", async () => {
    const policy = slowPolicy();
    const authority = new HouseAuthority({ grants: [], policies: [policy] });
    const decision = authority.decide(request);
    authority.adopt(new HouseAuthority({ grants: [READING], policies: [denying] }));
    policy.answer({ outcome: "allow" });
    expect(await decision).toMatchObject({ outcome: "deny", missing: ["filesystem.read"] });
  });
});
