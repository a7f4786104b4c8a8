import { describe, expect, it } from "vitest";
import type { AuthorityRequest, Decision } from "../ports/authority.ts";
import { authorityRequest } from "../testing/authority-request.ts";
import type { ConfiguredGrant } from "./grants.ts";
import { grantAuthority } from "./house-authority.ts";

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

  it("change the policy version when they change", () => {
    expect(decide([grant]).policyVersion).not.toBe(decide([{ ...grant, agents: ["*"] }]).policyVersion);
  });
});
