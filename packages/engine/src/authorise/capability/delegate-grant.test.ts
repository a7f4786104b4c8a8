import { isFailure } from "@sallyport/protocol";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { CapabilityGrant, GrantRecord } from "../../ports/grants.ts";
import { DEFAULT_DELEGATION_MS, delegateGrant } from "./delegate-grant.ts";
import { HOUR, NOON, SIGNER, sampleGrant, sampleOffice } from "./fixtures/sample-grants.ts";
import type { DelegationDraft } from "./grant-draft.ts";
import { coversResource } from "./resource-match.ts";
import { isGenuine } from "./sign-grant.ts";

const OTHER = { type: "TOOL" as const, id: "other.tool" };
const OPERATOR = { id: "olga", operator: true };

const parentOf = (change: Partial<CapabilityGrant> = {}) => sampleGrant({ delegatable: true, ...change });

function delegate(parent: CapabilityGrant, draft: Partial<DelegationDraft> = {}, held: GrantRecord[] = []) {
  const given = { grantee: OTHER, grantor: OPERATOR, ...draft };
  return delegateGrant(parent.grantId, given, sampleOffice([parent, ...held]));
}

function delegated(...args: Parameters<typeof delegate>): CapabilityGrant {
  const answer = delegate(...args);
  if (isFailure(answer)) throw new Error(JSON.stringify(answer.issues));
  return answer;
}

function refused(...args: Parameters<typeof delegate>): string[] {
  const answer = delegate(...args);
  if (!isFailure(answer)) throw new Error("the grant was passed on");
  expect(answer.code).toBe("E3220");
  return (answer.issues ?? []).map(({ path, reason }) => `${path} ${reason}`);
}

describe("passing a grant on", () => {
  it("the child takes over what is not said, and lives a day at most [R3-3]", () => {
    const scope = {
      resources: ["/data/*"],
      actions: ["read"],
      conditions: [{ type: "TIME", expression: "hour < 17" }],
    };
    const parent = parentOf({ scope, constraints: [{ type: "max_uses", value: 5 }] });
    const child = delegated(parent);
    expect(child).toMatchObject({
      capabilityId: parent.capabilityId,
      tenant: parent.tenant,
      grantee: OTHER,
      grantor: "olga",
      scope,
      constraints: parent.constraints,
      delegatable: false,
      delegationDepth: 1,
      parentGrantId: parent.grantId,
      expiresAt: NOON + DEFAULT_DELEGATION_MS,
    });
    expect(isGenuine(child, SIGNER)).toBe(true);
  });

  it("expires strictly before its parent [R3-3]", () => {
    const parent = parentOf({ expiresAt: NOON + HOUR });
    expect(delegated(parent).expiresAt).toBe(NOON + HOUR - 1);
    expect(delegated(parent, { expiresAt: NOON + 1 }).expiresAt).toBe(NOON + 1);
    expect(refused(parent, { expiresAt: NOON + HOUR })).toEqual(["/expiresAt is not before the parent's"]);
    expect(refused(parent, { expiresAt: NOON })).toEqual(["/expiresAt is not in the future"]);
    expect(refused(parentOf({ expiresAt: NOON + 1 }))).toEqual(["/expiresAt is not in the future"]);
  });

  it("only what may be passed on, three times at most [R3-3]", () => {
    expect(refused(sampleGrant())).toEqual(["/parent may not be passed on"]);
    const admin = parentOf({ capabilityId: "admin.tool.install" });
    expect(refused(admin)).toEqual(["/parent may not be passed on"]);
    const line = [parentOf()];
    for (const depth of [1, 2, 3]) {
      const [parent] = line.slice(-1);
      const expiresAt = NOON + HOUR - depth;
      line.push(parentOf({ parentGrantId: parent?.grantId ?? "", delegationDepth: depth, expiresAt }));
    }
    const [root, first, second, third] = line;
    if (!root || !first || !second || !third) throw new Error("no line");
    expect(delegated(second, {}, [root, first]).delegationDepth).toBe(3);
    expect(refused(third, {}, [root, first, second])).toEqual(["/parent has been passed on 3 times already"]);
  });

  it("the parent has to count now, with all above it [R3-3]", () => {
    const parent = parentOf();
    expect(refused({ ...parent, revokedAt: 1 })).toEqual([`/parent ${parent.grantId} was revoked`]);
    expect(refused({ ...parent, grantor: "forged" })).toEqual([
      `/parent ${parent.grantId} is not as the house signed it`,
    ]);
    const child = parentOf({ parentGrantId: parent.grantId, delegationDepth: 1, expiresAt: NOON + HOUR });
    expect(refused(child, {}, [{ ...parent, revokedAt: 1 }])).toEqual([
      `/parent ${parent.grantId} was revoked`,
    ]);
    expect(refused(child)[0]).toContain("no unbroken line");
    expect(delegated(child, {}, [parent]).delegationDepth).toBe(2);
  });

  it("is passed on by its holder or an operator [R3-3]", () => {
    const parent = parentOf();
    expect(delegated(parent, { grantor: { id: "file.read", type: "TOOL", operator: false } }).grantor).toBe(
      "file.read",
    );
    for (const grantor of [
      { id: "file.read", operator: false },
      { id: "mallory", type: "TOOL" as const, operator: false },
    ])
      expect(refused(parent, { grantor })).toEqual([
        `/grantor ${grantor.id} does not hold the parent grant and is no operator`,
      ]);
  });

  it("its scope is a part of the parent's [R3-3]", () => {
    const conditions = [{ type: "TIME", expression: "hour < 17" }];
    const parent = parentOf({ scope: { resources: ["/data/*"], actions: ["read", "list"], conditions } });
    const narrower = {
      resources: ["/data/a/*", "/data/b"],
      actions: ["read"],
      conditions: [...conditions, { type: "CONTEXT", expression: 'context.agent == "a"' }],
    };
    expect(delegated(parent, { scope: narrower }).scope).toEqual(narrower);
    expect(
      refused(parent, {
        scope: { resources: ["/data/a", "/*"], actions: ["read", "write"], conditions: [] },
      }),
    ).toEqual([
      "/scope/resources/1 /* is not surely within the parent's",
      "/scope/actions/1 write is not surely within the parent's",
      "/scope/conditions lacks the parent's TIME: hour < 17",
    ]);
    expect(refused(parent, { scope: { resources: [], actions: [] } })).toEqual([
      "/scope/resources is unrestricted and the parent is not",
      "/scope/actions is unrestricted and the parent is not",
    ]);
  });

  it("whatever it covers, its parent covers [R3-3]", () => {
    const glob = fc.string({ unit: fc.constantFrom("a", "b", "/", "*"), minLength: 1, maxLength: 6 });
    const resource = fc.string({ unit: fc.constantFrom("a", "b", "/"), maxLength: 8 });
    fc.assert(
      fc.property(
        fc.array(glob, { maxLength: 3 }),
        fc.array(glob, { maxLength: 3 }),
        resource,
        (outer, inner, one) => {
          const parent = parentOf({ scope: { resources: outer, actions: [], conditions: [] } });
          const child = delegate(parent, { scope: { resources: inner } });
          if (isFailure(child) || !coversResource(child.scope.resources, one)) return;
          expect(coversResource(outer, one)).toBe(true);
        },
      ),
      { numRuns: 1_000 },
    );
  });

  it("its constraints are at least as tight [R3-3]", () => {
    const parent = parentOf({ constraints: [{ type: "max_uses", value: 5 }] });
    expect(delegated(parent, { constraints: [{ type: "max_uses", value: 4 }] }).constraints).toHaveLength(1);
    const loose = ["/constraints do not keep the parent's max_uses at least as tight"];
    expect(refused(parent, { constraints: [] })).toEqual(loose);
    expect(refused(parent, { constraints: [{ type: "max_uses", value: 6 }] })).toEqual(loose);
  });

  it("the new holder needs the prerequisites too [R3-1]", () => {
    const parent = parentOf({ capabilityId: "filesystem.write" });
    expect(refused(parent)).toEqual([
      "/capabilityId requires filesystem.read, of which other.tool has no valid grant",
    ]);
    expect(delegated(parent, {}, [sampleGrant({ grantee: OTHER })]).grantee).toEqual(OTHER);
  });

  it("there has to be a parent (E3221)", () => {
    const answer = delegateGrant("nothing", { grantee: OTHER, grantor: OPERATOR }, sampleOffice());
    expect(answer).toMatchObject({ code: "E3221" });
  });
});
