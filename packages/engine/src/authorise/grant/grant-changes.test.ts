import { type Failure, isFailure } from "@sallyport/protocol";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { CapabilityGrant, GrantRecord } from "../../ports/grants.ts";
import { CapabilityTree } from "./capability-tree.ts";
import { HOUR, NOON, SIGNER, sampleContext, sampleDraft, sampleGrant } from "./fixtures/sample-grants.ts";
import {
  DEFAULT_DELEGATION_MS,
  type DelegationDraft,
  delegateGrant,
  type GrantDraft,
  type Grantor,
  issueGrant,
  revokeGrant,
} from "./grant-changes.ts";
import { coversResource } from "./grant-scope.ts";
import { isGenuine } from "./grant-validity.ts";

const OPERATOR = { id: "olga", operator: true };
const OLGA = { id: "olga", operator: false };
const OTHER = { type: "TOOL" as const, id: "other.tool" };
const SCOPE = {
  resources: ["/data/*"],
  actions: ["read"],
  conditions: [{ type: "TIME", expression: "hour < 17" }],
};

function given(answer: CapabilityGrant | Failure): CapabilityGrant {
  if (isFailure(answer)) throw new Error(JSON.stringify(answer.issues));
  expect(isGenuine(answer, SIGNER)).toBe(true);
  return answer;
}

/** Path and reason of each thing that is wrong. */
function issuesOf(answer: CapabilityGrant | Failure): string[] {
  if (!isFailure(answer)) throw new Error("the grant was given");
  expect(answer.code).toBe("E3220");
  return (answer.issues ?? []).map(({ path, reason }) => `${path} ${reason}`);
}

function treeWith(...drafts: Parameters<CapabilityTree["extend"]>[0]): CapabilityTree {
  const tree = new CapabilityTree().extend(drafts);
  if (isFailure(tree)) throw new Error(tree.message);
  return tree;
}

describe("issuing a grant", () => {
  const issue = (change: Partial<GrantDraft> = {}, held: GrantRecord[] = [], tree = new CapabilityTree()) =>
    issueGrant(sampleDraft(change), sampleContext(held, { tree }));
  const olgaMayGrant = (change: Partial<CapabilityGrant> = {}) =>
    sampleGrant({ capabilityId: "admin.capability.grant", grantee: { type: "USER", id: "olga" }, ...change });

  it("gives a signed record with everything that was asked for [R3-2]", () => {
    const constraints = [{ type: "rate_limit", value: { max: 10, window: 1_000 } }];
    const grant = given(issue({ scope: SCOPE, constraints, expiresAt: NOON + HOUR, delegatable: true }));
    expect(grant).toMatchObject({
      kind: "capability",
      grantId: "new-1",
      tenant: "acme",
      grantor: "olga",
      scope: SCOPE,
      constraints,
      issuedAt: NOON,
      expiresAt: NOON + HOUR,
      delegatable: true,
      delegationDepth: 0,
      uses: 0,
      revision: 1,
    });
    constraints[0] = { type: "rate_limit", value: { max: 99, window: 1 } };
    expect(isGenuine(grant, SIGNER)).toBe(true);
  });

  it("refuses an unknown or deprecated capability, and administration that could be passed on [R3-2] [R3-3]", () => {
    const old = treeWith({ id: "old", metadata: { deprecated: true, replacedBy: "state.read" } });
    expect(issuesOf(issue({ capabilityId: "filesystem.lick" }))).toEqual([
      "/capabilityId there is no capability filesystem.lick",
    ]);
    expect(issuesOf(issue({ capabilityId: "old" }, [], old))).toEqual(["/capabilityId old is deprecated"]);
    expect(issuesOf(issue({ capabilityId: "admin.tool.install", delegatable: true }))).toEqual([
      "/delegatable admin.tool.install is never passed on",
    ]);
  });

  it.each<[string, Partial<CapabilityGrant> | undefined]>([
    ["no grant", undefined],
    ["one that has expired", { expiresAt: NOON }],
    ["one that was revoked", { revokedAt: NOON }],
    ["one of another tenant", { tenant: "other" }],
    ["one of a tool of the same name", { grantee: { type: "TOOL", id: "olga" } }],
    ["one of the parent", { capabilityId: "admin" }],
    ["one to revoke", { capabilityId: "admin.capability.revoke" }],
    ["one for other capabilities", { scope: { ...SCOPE, resources: ["network.*"], actions: [] } }],
    ["one for another action", { scope: { resources: [], actions: ["revoke"], conditions: [] } }],
    [
      "one for other hours",
      { scope: { resources: [], actions: [], conditions: [{ type: "TIME", expression: "hour < 12" }] } },
    ],
    [
      "one that looks at a request",
      {
        scope: {
          resources: [],
          actions: [],
          conditions: [{ type: "CONTEXT", expression: "context.x == 1" }],
        },
      },
    ],
    ["one with an unknown constraint", { constraints: [{ type: "unheard_of", value: 1 }] }],
  ])("takes an operator or a valid admin.capability.grant: %s is not enough [R3-2]", (_what, change) => {
    expect(issuesOf(issue({ grantor: OLGA }, change ? [olgaMayGrant(change)] : []))).toEqual([
      "/grantor olga is no operator and holds no valid admin.capability.grant that covers this",
    ]);
  });

  it("takes a genuine grant to give, and its limit is measured by what was given [R3-2]", () => {
    expect(given(issue({ grantor: OLGA }, [olgaMayGrant()])).grantor).toBe("olga");
    expect(issuesOf(issue({ grantor: OLGA }, [{ ...olgaMayGrant(), grantor: "x" }]))).toHaveLength(1);
    for (const limit of [
      { type: "rate_limit", value: { max: 1, window: 2 * HOUR } },
      { type: "max_uses", value: 1 },
    ]) {
      const limited = olgaMayGrant({ constraints: [limit] });
      expect(given(issue({ grantor: OLGA }, [limited])).grantor).toBe("olga");
      expect(issuesOf(issue({ grantor: OLGA }, [limited, sampleGrant({ grantor: "olga" })]))).toHaveLength(1);
    }
  });

  it("prerequisites must be valid grants of the same grantee, to the last one [R3-1]", () => {
    const spawn = { capabilityId: "process.spawn" };
    const read = sampleGrant();
    const execute = sampleGrant({ capabilityId: "filesystem.execute" });
    expect(issuesOf(issue(spawn))).toEqual([
      "/capabilityId requires filesystem.execute, of which file.read has no valid grant",
      "/capabilityId requires filesystem.read, of which file.read has no valid grant",
    ]);
    expect(given(issue(spawn, [read, execute])).capabilityId).toBe("process.spawn");
    for (const useless of [
      [],
      [{ ...read, revokedAt: NOON }],
      [sampleGrant({ expiresAt: NOON - 1 })],
      [{ ...read, issuedAt: 1 }],
      [sampleGrant({ grantee: OTHER })],
      [sampleGrant({ tenant: "other" })],
      [sampleGrant({ capabilityId: "filesystem" })],
    ])
      expect(issuesOf(issue(spawn, [execute, ...useless]))).toHaveLength(1);
  });

  it("refuses what conflicts with a capability that is held, whichever says so [R3-1]", () => {
    const tree = treeWith({ id: "sealed", conflicts: ["network.https"] });
    const https = sampleGrant({ capabilityId: "network.https" });
    const sealed = sampleGrant({ capabilityId: "sealed" });
    expect(issuesOf(issue({ capabilityId: "sealed" }, [https], tree))).toEqual([
      "/capabilityId conflicts with network.https, which file.read holds",
    ]);
    expect(issuesOf(issue({ capabilityId: "network.https" }, [sealed], tree))).toHaveLength(1);
    given(issue({ capabilityId: "sealed" }, [{ ...https, revokedAt: 1 }], tree));
  });

  it("names every part that cannot be understood at once [R3-2]", () => {
    const conditions = [
      { type: "TIME", expression: "hour >=" },
      { type: "MOON", expression: "true" },
      { type: "TIME", expression: 'hour == "12"' },
      { type: "CONTEXT", expression: 'context.agent == "a"' },
    ];
    const draft = {
      tenant: "",
      grantee: { type: "TOOL" as const, id: " " },
      grantor: { id: "", operator: true },
      expiresAt: NOON,
      scope: { resources: ["", "/data/../*", "\ud800"], actions: [""], conditions },
      constraints: [
        { type: "unheard_of", value: 1 },
        { type: "max_uses", value: 0 },
      ],
    };
    expect(issuesOf(issue(draft))).toEqual([
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
});

describe("passing a grant on", () => {
  const parentOf = (change: Partial<CapabilityGrant> = {}) => sampleGrant({ delegatable: true, ...change });
  const delegate = (
    parent: CapabilityGrant,
    draft: Partial<DelegationDraft> = {},
    held: GrantRecord[] = [],
  ) =>
    delegateGrant(
      parent.grantId,
      { grantee: OTHER, grantor: OPERATOR, ...draft },
      sampleContext([parent, ...held]),
    );

  it("the child takes over what is not said, and lives a day at most [R3-3]", () => {
    const parent = parentOf({ scope: SCOPE, constraints: [{ type: "max_uses", value: 5 }] });
    expect(given(delegate(parent))).toMatchObject({
      capabilityId: parent.capabilityId,
      tenant: parent.tenant,
      grantee: OTHER,
      grantor: "olga",
      scope: SCOPE,
      constraints: parent.constraints,
      delegatable: false,
      delegationDepth: 1,
      parentGrantId: parent.grantId,
      expiresAt: NOON + DEFAULT_DELEGATION_MS,
    });
  });

  it("expires strictly before its parent [R3-3]", () => {
    const parent = parentOf({ expiresAt: NOON + HOUR });
    expect(given(delegate(parent)).expiresAt).toBe(NOON + HOUR - 1);
    expect(given(delegate(parent, { expiresAt: NOON + 1 })).expiresAt).toBe(NOON + 1);
    const late = issuesOf(delegate(parent, { expiresAt: NOON + HOUR }));
    expect(late).toEqual(["/expiresAt is not before the parent's"]);
    for (const over of [delegate(parent, { expiresAt: NOON }), delegate(parentOf({ expiresAt: NOON + 1 }))])
      expect(issuesOf(over)).toEqual(["/expiresAt is not in the future"]);
  });

  it("only what may be passed on, three times at most [R3-3]", () => {
    for (const fixed of [sampleGrant(), parentOf({ capabilityId: "admin.tool.install" })])
      expect(issuesOf(delegate(fixed))).toEqual(["/parent may not be passed on"]);
    const line = [parentOf()];
    for (const delegationDepth of [1, 2, 3]) {
      const parentGrantId = line.at(-1)?.grantId ?? "";
      line.push(parentOf({ parentGrantId, delegationDepth, expiresAt: NOON + HOUR - delegationDepth }));
    }
    const [second, third] = line.slice(2);
    if (!second || !third) throw new Error("no line");
    expect(given(delegate(second, {}, line)).delegationDepth).toBe(3);
    expect(issuesOf(delegate(third, {}, line))).toEqual(["/parent has been passed on 3 times already"]);
  });

  it("the parent has to count now, with all above it [R3-3]", () => {
    const parent = parentOf();
    const child = parentOf({ parentGrantId: parent.grantId, delegationDepth: 1, expiresAt: NOON + HOUR });
    const revoked = { ...parent, revokedAt: 1 };
    for (const answer of [delegate(revoked), delegate(child, {}, [revoked])])
      expect(issuesOf(answer)).toEqual([`/parent ${parent.grantId} was revoked`]);
    const forged = issuesOf(delegate({ ...parent, grantor: "forged" }));
    expect(forged).toEqual([`/parent ${parent.grantId} is not as it was signed`]);
    expect(issuesOf(delegate(child))[0]).toContain("no unbroken line");
    expect(given(delegate(child, {}, [parent])).delegationDepth).toBe(2);
  });

  it("is passed on by its holder or an operator; there has to be a parent (E3221) [R3-3]", () => {
    const parent = parentOf();
    const holder = { id: "file.read", type: "TOOL" as const, operator: false };
    expect(given(delegate(parent, { grantor: holder })).grantor).toBe("file.read");
    for (const grantor of [
      { id: "file.read", operator: false },
      { ...holder, id: "mallory" },
    ])
      expect(issuesOf(delegate(parent, { grantor }))).toEqual([
        `/grantor ${grantor.id} does not hold the parent grant and is no operator`,
      ]);
    const nothing = delegateGrant("nothing", { grantee: OTHER, grantor: OPERATOR }, sampleContext());
    expect(nothing).toMatchObject({ code: "E3221" });
  });

  it("its scope is a part of the parent's [R3-3]", () => {
    const parent = parentOf({ scope: { ...SCOPE, actions: ["read", "list"] } });
    const scope = {
      resources: ["/data/a/*", "/data/b"],
      actions: ["read"],
      conditions: [...SCOPE.conditions, { type: "CONTEXT", expression: 'context.agent == "a"' }],
    };
    expect(given(delegate(parent, { scope })).scope).toEqual(scope);
    const wider = { resources: ["/data/a", "/*"], actions: ["read", "write"], conditions: [] };
    expect(issuesOf(delegate(parent, { scope: wider }))).toEqual([
      "/scope/resources/1 /* is not surely within the parent's",
      "/scope/actions/1 write is not surely within the parent's",
      "/scope/conditions lacks the parent's TIME: hour < 17",
    ]);
    expect(issuesOf(delegate(parent, { scope: { resources: [], actions: [] } }))).toEqual([
      "/scope/resources is unrestricted and the parent is not",
      "/scope/actions is unrestricted and the parent is not",
    ]);
  });

  it("whatever it covers, its parent covers [R3-3]", () => {
    const glob = fc.string({ unit: fc.constantFrom("a", "b", "/", "*"), minLength: 1, maxLength: 6 });
    const globs = fc.array(glob, { maxLength: 3 });
    const resource = fc.string({ unit: fc.constantFrom("a", "b", "/"), maxLength: 8 });
    fc.assert(
      fc.property(globs, globs, resource, (outer, inner, one) => {
        const parent = parentOf({ scope: { resources: outer, actions: [], conditions: [] } });
        const child = delegate(parent, { scope: { resources: inner } });
        if (isFailure(child) || !coversResource(child.scope.resources, one)) return;
        expect(coversResource(outer, one)).toBe(true);
      }),
    );
  });

  it("its constraints are at least as tight [R3-3]", () => {
    const parent = parentOf({ constraints: [{ type: "max_uses", value: 5 }] });
    given(delegate(parent, { constraints: [{ type: "max_uses", value: 4 }] }));
    for (const constraints of [[], [{ type: "max_uses", value: 6 }]])
      expect(issuesOf(delegate(parent, { constraints }))).toEqual([
        "/constraints do not keep the parent's max_uses at least as tight",
      ]);
  });

  it("the new holder needs the prerequisites too [R3-1]", () => {
    const parent = parentOf({ capabilityId: "filesystem.write" });
    expect(issuesOf(delegate(parent))).toEqual([
      "/capabilityId requires filesystem.read, of which other.tool has no valid grant",
    ]);
    expect(given(delegate(parent, {}, [sampleGrant({ grantee: OTHER })])).grantee).toEqual(OTHER);
  });
});

describe("revoking a grant", () => {
  const root = sampleGrant({ delegatable: true });
  const below = { parentGrantId: root.grantId, delegationDepth: 1, expiresAt: NOON + HOUR };
  const child = sampleGrant({ ...below, delegatable: true });
  const grandchild = sampleGrant({ parentGrantId: child.grantId, delegationDepth: 2, expiresAt: NOON + 1 });
  const all = [root, child, grandchild, sampleGrant()];
  const revoke = (grantId: string, held: GrantRecord[] = all, by: Grantor = OPERATOR) =>
    revokeGrant(grantId, { by, reason: "leaked" }, sampleContext(held));

  it("takes everything below with it, the root first, and leaves what is above and beside [R3-3]", () => {
    const because = `delegated from ${root.grantId}, which was revoked: leaked`;
    const marks = { revokedAt: NOON, revokedBy: "olga", revokedBecause: "leaked", revision: 2 };
    expect(revoke(root.grantId)).toMatchObject({
      grant: { grantId: root.grantId, ...marks },
      revoked: [
        { grantId: root.grantId },
        { grantId: child.grantId, revokedBecause: because },
        { grantId: grandchild.grantId, revokedBecause: because },
      ],
    });
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
    const may = sampleGrant({
      capabilityId: "admin.capability.revoke",
      grantee: { type: "USER", id: "mallory" },
    });
    for (const held of [[root], [root, { ...may, revokedAt: 1 }]])
      expect(revoke(root.grantId, held, mallory)).toMatchObject({ code: "E3220", issues: [{ path: "/by" }] });
    expect(revoke(root.grantId, [root], { id: "operator", operator: false })).toHaveProperty("revoked");
    expect(revoke(root.grantId, [root, may], mallory)).toHaveProperty("revoked");
  });

  it("needs a reason, and a grant (E3220, E3221); a circle among forged records does not trap it", () => {
    expect(revoke("nothing")).toMatchObject({ code: "E3221" });
    const silent = revokeGrant(root.grantId, { by: OPERATOR, reason: " " }, sampleContext([root]));
    expect(silent).toMatchObject({ code: "E3220", issues: [{ path: "/reason", reason: "is empty" }] });
    const one = sampleGrant({ parentGrantId: "two" });
    const two = { ...sampleGrant({ parentGrantId: one.grantId }), grantId: "two" };
    expect(revoke("two", [one, two])).toMatchObject({
      revoked: [{ grantId: "two" }, { grantId: one.grantId }],
    });
  });
});
