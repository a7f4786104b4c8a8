import { canonicalJson } from "@sallyport/protocol";
import { describe, expect, it } from "vitest";
import type { CapabilityGrant, StandingGrant } from "../ports/grants.ts";
import { sampleTool } from "../testing/store-samples.ts";
import { grantEvent, toolEvent } from "./event.ts";

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
    const body = grantEvent("GRANT_ISSUED", record, AT);
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
    expect(grantEvent("GRANT_ISSUED", STANDING, AT)).not.toContain("abcdefghijklmnop");
    const revoked = {
      ...CAPABILITY,
      revokedBy: "olga",
      revokedBecause: `Bearer abcdefgh12345678 ${"x".repeat(900)}\ud800`,
    };
    const { reason } = JSON.parse(grantEvent("GRANT_REVOKED", revoked, AT));
    expect(reason).toMatch(/\[REDACTED.*\] x+$/);
    expect(reason).not.toContain("abcdefgh12345678");
    expect(reason).toHaveLength(500);
  });
});

const record = sampleTool("calc", "1.0.0");

describe("events about tools", () => {
  it("are canonical JSON, with and without who did it", () => {
    const retired = { ...record, retirement: { replacement: "2.0.0" } };
    const word = { by: "olga", because: "odd", callId: "c" };
    const bodies = [
      toolEvent("registered", record, AT),
      toolEvent("removed", retired, AT),
      toolEvent("quarantined", retired, { ...AT, actor: word }),
      toolEvent("released", record, { ...AT, actor: { by: "olga", because: "fine" } }),
    ];
    for (const body of bodies) expect(canonicalJson(JSON.parse(body))).toBe(body);
    expect(JSON.parse(bodies[2] ?? "")).toMatchObject({ change: "quarantined", word });
    expect(bodies[0]).not.toContain("word");
  });

  it("hold no secrets and no half characters [L3P2-3]", () => {
    const because = `it sent Bearer abcdefgh12345678 ${"x".repeat(900)}\ud800`;
    const body = toolEvent("quarantined", record, { ...AT, actor: { by: "\ud800", because } });
    expect(body).not.toContain("abcdefgh12345678");
    expect(body.isWellFormed()).toBe(true);
    expect(JSON.parse(body).word.because).toHaveLength(500);
  });
});
