import { isFailure } from "@sallyport/protocol";
import { describe, expect, it } from "vitest";
import type { CapabilityGrant, GrantRecord } from "../../ports/grants.ts";
import { HOUR, NOON, SIGNER, sampleDraft, sampleGrant, sampleOffice } from "./fixtures/sample-grants.ts";
import type { GrantDraft } from "./grant-draft.ts";
import { issueGrant } from "./issue-grant.ts";
import { isGenuine } from "./sign-grant.ts";
import { CapabilityTree } from "./tree.ts";

function issued(change: Partial<GrantDraft> = {}, held: GrantRecord[] = []): CapabilityGrant {
  const answer = issueGrant(sampleDraft(change), sampleOffice(held));
  if (isFailure(answer)) throw new Error(JSON.stringify(answer.issues));
  return answer;
}

/** Path and reason of each thing that is wrong. */
function refused(
  change: Partial<GrantDraft>,
  held: GrantRecord[] = [],
  office = sampleOffice(held),
): string[] {
  const answer = issueGrant(sampleDraft(change), office);
  if (!isFailure(answer)) throw new Error("the grant was given");
  expect(answer.code).toBe("E3220");
  return (answer.issues ?? []).map(({ path, reason }) => `${path} ${reason}`);
}

const olgaMayGrant = (change: Partial<CapabilityGrant> = {}) =>
  sampleGrant({ capabilityId: "admin.capability.grant", grantee: { type: "USER", id: "olga" }, ...change });
const OLGA = { id: "olga", operator: false };

describe("issuing a grant", () => {
  it("gives a signed record with everything that was asked for [R3-2]", () => {
    const scope = {
      resources: ["/data/*"],
      actions: ["read"],
      conditions: [{ type: "TIME", expression: "hour < 17" }],
    };
    const constraints = [{ type: "rate_limit", value: { max: 10, window: 1_000 } }];
    const grant = issued({ scope, constraints, expiresAt: NOON + HOUR, delegatable: true });
    expect(grant).toMatchObject({
      kind: "capability",
      grantId: "new-1",
      tenant: "acme",
      grantor: "olga",
      scope,
      constraints,
      issuedAt: NOON,
      expiresAt: NOON + HOUR,
      delegatable: true,
      delegationDepth: 0,
      uses: 0,
      revision: 1,
    });
    expect(isGenuine(grant, SIGNER)).toBe(true);
    constraints[0] = { type: "rate_limit", value: { max: 99, window: 1 } };
    expect(isGenuine(grant, SIGNER)).toBe(true);
  });

  it("refuses an unknown or deprecated capability [R3-2]", () => {
    expect(refused({ capabilityId: "filesystem.lick" })).toEqual([
      "/capabilityId there is no capability filesystem.lick",
    ]);
    const tree = new CapabilityTree().extend([
      { id: "old", metadata: { deprecated: true, replacedBy: "state.read" } },
    ]);
    if (isFailure(tree)) throw new Error(tree.message);
    expect(refused({ capabilityId: "old" }, [], sampleOffice([], { tree }))).toEqual([
      "/capabilityId old is deprecated",
    ]);
  });

  it("only an operator or a holder of admin.capability.grant gives [R3-2]", () => {
    const nobody = [
      "/grantor olga is no operator and holds no valid admin.capability.grant that covers this",
    ];
    expect(refused({ grantor: OLGA })).toEqual(nobody);
    expect(issued({ grantor: OLGA }, [olgaMayGrant()]).grantor).toBe("olga");
    for (const useless of [
      { expiresAt: NOON },
      { revokedAt: NOON },
      { tenant: "other" },
      { grantee: { type: "TOOL" as const, id: "olga" } },
      { capabilityId: "admin" },
      { capabilityId: "admin.capability.revoke" },
      { scope: { resources: ["network.*"], actions: [], conditions: [] } },
      { scope: { resources: [], actions: ["revoke"], conditions: [] } },
      { scope: { resources: [], actions: [], conditions: [{ type: "TIME", expression: "hour < 12" }] } },
      {
        scope: {
          resources: [],
          actions: [],
          conditions: [{ type: "CONTEXT", expression: "context.x == 1" }],
        },
      },
      { constraints: [{ type: "unheard_of", value: 1 }] },
    ]) {
      expect(refused({ grantor: OLGA }, [olgaMayGrant(useless)]), JSON.stringify(useless)).toEqual(nobody);
    }
    expect(refused({ grantor: OLGA }, [{ ...olgaMayGrant(), tenant: "acme", grantor: "x" }])).toEqual(nobody);
  });

  it("a limit on giving is measured by what was given [R3-2]", () => {
    const limited = olgaMayGrant({
      constraints: [{ type: "rate_limit", value: { max: 1, window: 2 * HOUR } }],
    });
    expect(issued({ grantor: OLGA }, [limited]).grantor).toBe("olga");
    expect(refused({ grantor: OLGA }, [limited, sampleGrant({ grantor: "olga" })])).toHaveLength(1);
  });

  it("prerequisites must be valid grants of the same grantee, to the last one [R3-1]", () => {
    const spawn = { capabilityId: "process.spawn" };
    const read = sampleGrant();
    const execute = sampleGrant({ capabilityId: "filesystem.execute" });
    expect(refused(spawn)).toEqual([
      "/capabilityId requires filesystem.execute, of which file.read has no valid grant",
      "/capabilityId requires filesystem.read, of which file.read has no valid grant",
    ]);
    expect(issued(spawn, [read, execute]).capabilityId).toBe("process.spawn");
    expect(refused(spawn, [execute])).toHaveLength(1);
    for (const useless of [
      { ...read, revokedAt: NOON },
      sampleGrant({ expiresAt: NOON - 1 }),
      { ...read, capabilityId: "filesystem.read", issuedAt: 1 },
      sampleGrant({ grantee: { type: "TOOL", id: "other.tool" } }),
      sampleGrant({ tenant: "other" }),
      sampleGrant({ capabilityId: "filesystem" }),
    ])
      expect(refused(spawn, [execute, useless])).toHaveLength(1);
  });

  it("refuses what conflicts with a capability that is held, whichever says so [R3-1]", () => {
    const tree = new CapabilityTree().extend([{ id: "sealed", conflicts: ["network.https"] }]);
    if (isFailure(tree)) throw new Error(tree.message);
    const https = sampleGrant({ capabilityId: "network.https" });
    const sealed = sampleGrant({ capabilityId: "sealed" });
    const office = (held: GrantRecord[]) => sampleOffice(held, { tree });
    expect(refused({ capabilityId: "sealed" }, [], office([https]))).toEqual([
      "/capabilityId conflicts with network.https, which file.read holds",
    ]);
    expect(refused({ capabilityId: "network.https" }, [], office([sealed]))).toHaveLength(1);
    expect(
      issueGrant(sampleDraft({ capabilityId: "sealed" }), office([{ ...https, revokedAt: 1 }])),
    ).toHaveProperty("signature");
  });

  it("names every part that cannot be understood at once [R3-2]", () => {
    const conditions = [
      { type: "TIME", expression: "hour >=" },
      { type: "MOON", expression: "true" },
      { type: "TIME", expression: 'hour == "12"' },
      { type: "CONTEXT", expression: 'context.agent == "a"' },
    ];
    const scope = { resources: ["", "/data/../*", "\ud800"], actions: [""], conditions };
    const constraints = [
      { type: "unheard_of", value: 1 },
      { type: "max_uses", value: 0 },
    ];
    const issues = refused({
      scope,
      constraints,
      expiresAt: NOON,
      tenant: "",
      grantee: { type: "TOOL", id: " " },
      grantor: { id: "", operator: true },
    });
    expect(issues).toEqual([
      "/tenant is empty",
      "/grantee/id is empty",
      "/grantor/id is empty",
      "/expiresAt is not in the future",
      "/scope/resources/0 is empty",
      "/scope/resources/1 has . or .. between its slashes",
      "/scope/resources/2 is not well-formed Unicode",
      "/scope/actions/0 is empty",
      "/scope/conditions/0 at character 8: the end where a value is expected",
      '/scope/conditions/1 the condition type "MOON" is not known',
      "/scope/conditions/2 a number is compared with a string",
      '/constraints/0 the constraint type "unheard_of" is not known',
      "/constraints/1 max_uses needs max, a whole number from 1 on",
    ]);
  });

  it("administration is never made to be passed on [R3-3]", () => {
    expect(refused({ capabilityId: "admin.tool.install", delegatable: true })).toEqual([
      "/delegatable admin.tool.install is never passed on",
    ]);
  });
});
