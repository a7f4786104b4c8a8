import { generateKeyPairSync } from "node:crypto";
import { isFailure } from "@sallyport/protocol";
import { describe, expect, it } from "vitest";
import type { AuthorityRequest, Decision, Policy, PolicyVerdict } from "../ports/authority.ts";
import { authorityRequest } from "../testing/samples.ts";
import { ConfiguredAuthority, grantAuthority } from "./authority.ts";
import type { ConfiguredGrant } from "./configured-rules.ts";
import { SIGNER, sampleGrant } from "./grant/fixtures/sample-grants.ts";
import { GrantIndex } from "./grant/index.ts";
import { keySetOf, type MintClaims, mintToken, TokenChecker } from "./token/index.ts";

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
    const authority = new ConfiguredAuthority({ grants: [] });
    expect(authority.accessRefusal(approach)).toMatchObject({ code: "E3209" });
    expect(await authority.decide(request)).toMatchObject({ outcome: "deny" });
    authority.adopt(new ConfiguredAuthority({ grants: [READING] }));
    expect(authority.accessRefusal(approach)).toBeUndefined();
    expect(await authority.decide(request)).toMatchObject({ outcome: "allow", rules: ["reading"] });
    authority.adopt(new ConfiguredAuthority({ grants: [READING], policies: [denying] }));
    expect(await authority.decide(request)).toMatchObject({ outcome: "deny", rules: ["no"] });
    const profile = { agents: ["*"], tenants: ["*"], clearance: 0, roles: [] };
    authority.adopt(new ConfiguredAuthority({ grants: [READING], agents: [profile] }));
    expect(await authority.decide({ ...request, securityLevel: 1 })).toMatchObject({ code: "E3218" });
  });

  it("says that they are others", async () => {
    const authority = new ConfiguredAuthority({ grants: [READING] });
    const before = await authority.decide(request);
    authority.adopt(new ConfiguredAuthority({ grants: [{ ...READING, id: "other" }] }));
    expect((await authority.decide(request)).policyVersion).not.toBe(before.policyVersion);
  });

  it("never mixes old and new in one decision", async () => {
    const policy = slowPolicy();
    const authority = new ConfiguredAuthority({ grants: [], policies: [policy] });
    const decision = authority.decide(request);
    authority.adopt(new ConfiguredAuthority({ grants: [READING], policies: [denying] }));
    policy.answer({ outcome: "allow" });
    expect(await decision).toMatchObject({ outcome: "deny", missing: ["filesystem.read"] });
  });
});

const grant: ConfiguredGrant = {
  id: "files",
  tenants: ["acme"],
  agents: ["agent-*"],
  tools: ["file.*"],
  operations: ["*"],
  capabilities: ["filesystem.read"],
};

const decide = (grants: ConfiguredGrant[], change?: Partial<AuthorityRequest>) =>
  grantAuthority(grants).decide(authorityRequest(change)) as Decision;

describe("configured grants", () => {
  it("allow what they cover and say which of them did [R1-5.1]", () => {
    expect(decide([grant])).toMatchObject({
      outcome: "allow",
      rules: ["files"],
      capabilities: ["filesystem.read"],
      missing: [],
    });
  });

  it("deny everything when there are none, also a tool that needs no capability", () => {
    expect(decide([], { requiredCapabilities: [] })).toMatchObject({ outcome: "deny", rules: [] });
  });

  it("deny another tenant, agent, tool or operation", () => {
    const others: Partial<AuthorityRequest>[] = [
      { caller: { tenant: "other", agent: "agent-7" } },
      { caller: { tenant: "acme", agent: "bob" } },
      { tool: "shell" },
    ];
    for (const other of others) expect(decide([grant], other).outcome).toBe("deny");
    expect(decide([{ ...grant, operations: ["read"] }], { operation: "write" }).outcome).toBe("deny");
  });

  it("deny when a required capability is missing, and say what would unlock it [R1-4.2]", () => {
    const decision = decide([grant], { requiredCapabilities: ["filesystem.read", "filesystem.write"] });
    expect(decision).toMatchObject({ outcome: "deny", missing: ["filesystem.write"], rules: ["files"] });
    expect(decision.unlock).toContain("filesystem.write");
  });

  it("do not give a child by naming its parent [R3-1]", () => {
    const parent = { ...grant, capabilities: ["filesystem"] };
    expect(decide([parent]).outcome).toBe("deny");
  });

  it("add up", () => {
    const second = { ...grant, id: "more", capabilities: ["filesystem.write"] };
    const decision = decide([grant, second], {
      requiredCapabilities: ["filesystem.read", "filesystem.write"],
    });
    expect(decision).toMatchObject({ outcome: "allow", rules: ["files", "more"] });
  });

  it("hold for each caller and tool alike, also for more of them than are remembered", () => {
    const authority = grantAuthority([{ ...grant, agents: ["agent-*1"], tools: ["file.*1"] }]);
    const outcomeOf = (index: number, tenant: string) =>
      (
        authority.decide(
          authorityRequest({ caller: { tenant, agent: `agent-${index}` }, tool: `file.${index}` }),
        ) as Decision
      ).outcome;
    for (let index = 0; index < 500; index += 1) {
      expect(outcomeOf(index % 250, "acme"), `${index}`).toBe(index % 10 === 1 ? "allow" : "deny");
      expect(outcomeOf(index % 250, "other"), `${index}`).toBe("deny");
    }
  });

  it("change the policy version when they change", () => {
    expect(decide([grant]).policyVersion).not.toBe(decide([{ ...grant, agents: ["*"] }]).policyVersion);
  });
});

describe("a token and what else is known of its agent", () => {
  const { publicKey, privateKey } = generateKeyPairSync("rsa", { modulusLength: 2048 });
  const keys = keySetOf([{ kid: "k", publicKey }]);
  if (isFailure(keys)) throw new Error(keys.message);
  const tokens = { checker: new TokenChecker({ keys }), required: true };
  const claims = {
    jti: "t-1",
    issuer: "sallyport",
    tool: request.tool,
    versions: "*",
    ...request.caller,
    operations: ["execute"],
    issuedAt: request.at,
    expiresAt: request.at + 60_000,
  };
  const minted = (change: Partial<MintClaims>) =>
    mintToken({ ...claims, ...change }, { kid: "k", privateKey });

  it("may allow no more than the agent's profile, whatever the tool wants (BC-1)", () => {
    const permissions = {
      filesystem: [{ path: "/data", mode: "ro" as const }],
      network: [],
      credentials: [],
    };
    const profile = { agents: ["*"], tenants: ["*"], clearance: 7, roles: [], permissions };
    const authority = new ConfiguredAuthority({ grants: [READING], tokens, agents: [profile] });
    const codeFor = (path: string) => {
      const token = minted({ filesystem: { paths: [path], mode: "ro" } });
      return (authority.decide({ ...request, token }) as Decision).code;
    };
    expect([codeFor("/data/x"), codeFor("/etc")]).toEqual([undefined, "E3105"]);
  });

  it("names the user; otherwise grants to the user that the caller names do not count [R3-2]", () => {
    const grantIndex = new GrantIndex(SIGNER);
    grantIndex.load([sampleGrant({ grantee: { type: "USER", id: "ann" } })]);
    const authority = new ConfiguredAuthority({ grants: [], tokens, grantIndex });
    const outcomeWith = (token: string) => {
      const asked = { ...request, caller: { ...request.caller, user: "ann" }, token };
      return (authority.decide(asked) as Decision).outcome;
    };
    expect([outcomeWith(minted({ user: "ann" })), outcomeWith(minted({}))]).toEqual(["allow", "deny"]);
  });
});
