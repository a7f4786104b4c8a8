import { isFailure } from "@sallyport/protocol";
import { describe, expect, it } from "vitest";
import type { GrantRecord } from "../../ports/grants.ts";
import { HOUR, NOON, sampleGrant, sampleOffice } from "./fixtures/sample-grants.ts";
import type { Grantor } from "./grant-draft.ts";
import { revokeGrant } from "./revoke-grant.ts";

const OPERATOR = { id: "olga", operator: true };

const root = sampleGrant({ delegatable: true });
const child = sampleGrant({
  parentGrantId: root.grantId,
  delegationDepth: 1,
  delegatable: true,
  expiresAt: NOON + HOUR,
});
const grandchild = sampleGrant({ parentGrantId: child.grantId, delegationDepth: 2, expiresAt: NOON + 1 });
const bystander = sampleGrant();

function revoke(
  grantId: string,
  held: GrantRecord[] = [root, child, grandchild, bystander],
  by: Grantor = OPERATOR,
) {
  return revokeGrant(grantId, { by, reason: "leaked" }, sampleOffice(held));
}

describe("revoking a grant", () => {
  it("takes everything below with it, the root first [R3-3]", () => {
    const answer = revoke(root.grantId);
    if (isFailure(answer)) throw new Error(answer.message);
    expect(answer.revoked.map(({ grantId }) => grantId)).toEqual([
      root.grantId,
      child.grantId,
      grandchild.grantId,
    ]);
    expect(answer.grant).toMatchObject({
      revokedAt: NOON,
      revokedBy: "olga",
      revokedBecause: "leaked",
      revision: 2,
    });
    expect(answer.revoked[2]?.revokedBecause).toBe(
      `delegated from ${root.grantId}, which was revoked: leaked`,
    );
  });

  it("leaves what is above and beside", () => {
    expect(revoke(child.grantId)).toMatchObject({
      revoked: [{ grantId: child.grantId }, { grantId: grandchild.grantId }],
    });
  });

  it("doing it twice changes nothing, except for children that came later [R3-3]", () => {
    const gone = { ...root, revokedAt: 1, revision: 2 };
    expect(revoke(root.grantId, [gone])).toEqual({ grant: gone, revoked: [] });
    expect(revoke(root.grantId, [gone, child])).toMatchObject({
      grant: gone,
      revoked: [{ grantId: child.grantId }],
    });
  });

  it("takes an operator, the giver, or a holder of admin.capability.revoke [R3-2]", () => {
    const mallory = { id: "mallory", operator: false };
    expect(revoke(root.grantId, [root], mallory)).toMatchObject({ code: "E3220", issues: [{ path: "/by" }] });
    expect(revoke(root.grantId, [root], { id: "operator", operator: false })).toHaveProperty("revoked");
    const may = sampleGrant({
      capabilityId: "admin.capability.revoke",
      grantee: { type: "USER", id: "mallory" },
    });
    expect(revoke(root.grantId, [root, may], mallory)).toHaveProperty("revoked");
    expect(revoke(root.grantId, [root, { ...may, revokedAt: 1 }], mallory)).toMatchObject({ code: "E3220" });
  });

  it("needs a reason, and a grant (E3220, E3221)", () => {
    expect(revoke("nothing")).toMatchObject({ code: "E3221" });
    const silent = revokeGrant(root.grantId, { by: OPERATOR, reason: " " }, sampleOffice([root]));
    expect(silent).toMatchObject({ code: "E3220", issues: [{ path: "/reason", reason: "is empty" }] });
  });

  it("a circle among forged records does not trap it", () => {
    const one = sampleGrant({ parentGrantId: "two" });
    const two = { ...sampleGrant({ parentGrantId: one.grantId }), grantId: "two" };
    expect(revoke("two", [one, two])).toMatchObject({
      revoked: [{ grantId: "two" }, { grantId: one.grantId }],
    });
  });
});
