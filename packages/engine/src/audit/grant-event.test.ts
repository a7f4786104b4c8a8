import { canonicalJson } from "@sallyport/protocol";
import { describe, expect, it } from "vitest";
import type { CapabilityGrant, StandingGrant } from "../ports/grants.ts";
import { grantEventBody } from "./grant-event.ts";

const AT = { eventId: "e-1", timestamp: 5 };
const COMMON = {
  grantId: "g",
  tenant: "acme",
  grantor: "olga",
  issuedAt: 1,
  signature: "s",
  uses: 3,
  revision: 2,
};

const CAPABILITY: CapabilityGrant = {
  ...COMMON,
  kind: "capability",
  capabilityId: "network.https",
  grantee: { type: "TOOL", id: "web.get" },
  scope: { resources: ["https://a/*"], actions: [], conditions: [{ type: "TIME", expression: "hour < 9" }] },
  constraints: [{ type: "max_uses", value: 3 }],
  delegatable: false,
  delegationDepth: 0,
};

const STANDING: StandingGrant = {
  ...COMMON,
  kind: "standing",
  tier: "user",
  tool: "web.get",
  versions: "*",
  operations: ["run"],
  arguments: [{ pointer: "/password", match: { equals: "sk-abcdefghijklmnop" } }],
  agent: "*",
};

describe("events about grants", () => {
  it.each([CAPABILITY, STANDING])("are canonical JSON and say what was given ($kind) [R3-2]", (record) => {
    const body = grantEventBody("GRANT_ISSUED", record, AT);
    expect(canonicalJson(JSON.parse(body))).toBe(body);
    expect(JSON.parse(body)).toMatchObject({
      eventId: "e-1",
      timestamp: 5,
      state: "GRANT_ISSUED",
      grantId: "g",
    });
    expect(body).not.toContain('"uses"');
  });

  it("hold no secrets [L3P2-3]", () => {
    expect(grantEventBody("GRANT_ISSUED", STANDING, AT)).not.toContain("abcdefghijklmnop");
    const revoked = {
      ...CAPABILITY,
      revokedBy: "olga",
      revokedBecause: `Bearer abcdefgh12345678 ${"x".repeat(900)}\ud800`,
    };
    const { reason } = JSON.parse(grantEventBody("GRANT_REVOKED", revoked, AT));
    expect(reason).toMatch(/\[REDACTED.*\] x+$/);
    expect(reason).not.toContain("abcdefgh12345678");
    expect(reason).toHaveLength(500);
  });
});
