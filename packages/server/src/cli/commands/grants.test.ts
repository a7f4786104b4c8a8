import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { PassThrough } from "node:stream";
import { text } from "node:stream/consumers";
import { openSqliteStore } from "@sallyport/adapters/sqlite";
import type { CapabilityGrant, GrantRecord, StandingGrant } from "@sallyport/engine/ports";
import { SallyportError } from "@sallyport/protocol";
import { Command } from "commander";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { type GiveOptions, withGiveOptions } from "./grant-options.ts";
import { grantsCommand } from "./grants.ts";
import { delegationDraft, issueDraft } from "./grants-give.ts";

const COMMON = { tenant: "local", grantor: "olga", issuedAt: 1, signature: "s", uses: 0, revision: 1 };

function capability(change: Partial<CapabilityGrant> = {}): CapabilityGrant {
  return {
    ...COMMON,
    kind: "capability",
    grantId: "grant-1",
    capabilityId: "filesystem.read",
    grantee: { type: "TOOL", id: "file.read" },
    scope: {
      resources: ["/data/*"],
      actions: ["read"],
      conditions: [{ type: "TIME", expression: "hour < 17" }],
    },
    constraints: [{ type: "max_uses", value: 3 }],
    delegatable: true,
    delegationDepth: 0,
    ...change,
  };
}

const STANDING: StandingGrant = {
  ...COMMON,
  kind: "standing",
  grantId: "grant-2",
  tier: "user",
  tool: "mail.send",
  versions: "^1.0.0",
  operations: ["send"],
  arguments: [{ pointer: "/to", match: { glob: "*@example.com" } }],
  agent: "*",
};

let cwd = "";
beforeEach(() => {
  cwd = mkdtempSync(join(tmpdir(), "sallyport-grants-"));
});
afterEach(() => rmSync(cwd, { recursive: true }));

async function store(...records: GrantRecord[]): Promise<void> {
  const opened = await openSqliteStore({ folder: join(cwd, ".sallyport") });
  await opened.commit({
    tenant: "local",
    grants: records.map((record) => ({ record })),
  });
  await opened.close();
}

async function run(...args: string[]): Promise<string> {
  const stdout = new PassThrough();
  const io = { stdin: new PassThrough(), stdout, stderr: new PassThrough(), cwd };
  await grantsCommand(io).exitOverride().parseAsync(args, { from: "user" });
  stdout.end();
  return await text(stdout);
}

async function code(...args: string[]): Promise<string> {
  const thrown = await run(...args).catch((error: unknown) => error);
  return thrown instanceof SallyportError ? thrown.failure.code : `not refused: ${String(thrown)}`;
}

describe("sallyport grants", () => {
  it("says what to do when there are none, and writes nothing to find out", async () => {
    expect(await run("list")).toMatch(/^No grants in force\. Give one: sallyport grants issue /);
    expect(await run("list", "--json")).toBe("[]\n");
    expect(await code("show", "grant-1")).toBe("E3221");
  });

  it("lists what is in force, and all of it on request [R3-2]", async () => {
    const expired = capability({ grantId: "grant-3", expiresAt: 2 });
    const revoked = capability({ grantId: "grant-4", revokedAt: 2, revokedBy: "olga", revokedBecause: "x" });
    await store(capability({ expiresAt: Date.now() + 7_300_000 }), STANDING, expired, revoked);
    const lines = (await run("list")).trim().split("\n");
    expect(lines).toHaveLength(3);
    expect(lines[1]).toMatch(
      /^grant-1 +capability +filesystem\.read +tool file\.read +read; on \/data\/\*; TIME: hour < 17; max_uses 3 +in 2 h +0 +never +in force$/,
    );
    expect(lines[2]).toMatch(
      /^grant-2 +standing +mail\.send@\^1\.0\.0 send +any agent +\/to \{"glob":"\*@example\.com"\} +no end +0 +never +in force$/,
    );
    expect((await run("list", "--kind", "standing")).trim().split("\n")).toHaveLength(2);
    const all = JSON.parse(await run("list", "--all", "--json"));
    expect(all.map(({ grantId, state }: { grantId: string; state: string }) => [grantId, state])).toEqual([
      ["grant-1", "in force"],
      ["grant-2", "in force"],
      ["grant-3", "expired"],
      ["grant-4", "revoked"],
    ]);
  });

  it("shows one with everything, and nothing that could move the cursor", async () => {
    await store(
      capability({
        grantee: { type: "TOOL", id: "file\u001b[2Jread" },
        parentGrantId: "root",
        delegationDepth: 1,
      }),
      STANDING,
    );
    const shown = await run("show", "grant-1");
    expect(shown).toContain("tool file\\u001b[2Jread of local");
    expect(shown).toContain("from root, depth 1 of 3");
    expect(await run("show", "grant-2")).toContain("questions up to the tier user");
    expect(JSON.parse(await run("show", "grant-2", "--json"))).toMatchObject({
      state: "in force",
      tool: "mail.send",
    });
  });

  it("revokes with the cascade, safely twice [R3-3]", async () => {
    await store(capability(), capability({ grantId: "child", parentGrantId: "grant-1", delegationDepth: 1 }));
    const first = await run("revoke", "grant-1", "--reason", "leaked");
    expect(first).toBe(
      "Revoked grant-1.\n  with it child, which was delegated from it\nNo call running here rested on it.\n",
    );
    expect(await run("revoke", "grant-1", "--reason", "leaked")).toContain("grant-1 was revoked before.");
    expect(JSON.parse(await run("list", "--all", "--json"))).toMatchObject([
      { revokedBecause: "leaked", state: "revoked" },
      { grantId: "child", state: "revoked" },
    ]);
    expect(await code("revoke", "nothing", "--reason", "x")).toBe("E3221");
  }, 120_000);
});

describe("the flags of a grant", () => {
  function options(...args: string[]): GiveOptions {
    const command = withGiveOptions(
      new Command().exitOverride().configureOutput({ writeErr: () => undefined }),
    );
    return command.parse(args, { from: "user" }).opts();
  }

  const whose = { tenant: "acme", by: "olga", now: 1_000 };

  it("say what is issued", () => {
    const given = options(
      ...["--tool", "file.read", "--resource", "/a/*", "--resource", "/b", "--action", "read", "--ttl", "2h"],
      ...[
        "--condition",
        "TIME: hour >= 9",
        "--constraint",
        'rate_limit={"max":10,"window":60000}',
        "--delegatable",
      ],
    );
    expect(issueDraft({ ...given, capability: "filesystem.read" }, whose)).toEqual({
      tenant: "acme",
      capabilityId: "filesystem.read",
      grantee: { type: "TOOL", id: "file.read" },
      grantor: { id: "olga", operator: true },
      scope: {
        resources: ["/a/*", "/b"],
        actions: ["read"],
        conditions: [{ type: "TIME", expression: "hour >= 9" }],
      },
      constraints: [{ type: "rate_limit", value: { max: 10, window: 60_000 } }],
      delegatable: true,
      expiresAt: 1_000 + 7_200_000,
    });
  });

  it("name exactly one holder (E3921)", () => {
    const draft = (...args: string[]) => issueDraft({ ...options(...args), capability: "x" }, whose).grantee;
    expect(draft("--user", "ann")).toEqual({ type: "USER", id: "ann" });
    expect(draft("--role", "editor")).toEqual({ type: "ROLE", id: "editor" });
    expect(() => draft()).toThrow("E3921");
    expect(() => draft("--user", "ann", "--tool", "x")).toThrow("E3921");
  });

  it("never widen a delegated grant by what they leave out [R3-3]", () => {
    const parent = capability();
    const bare = delegationDraft(options("--tool", "other"), { ...whose, parent });
    expect(bare).toMatchObject({ grantee: { type: "TOOL", id: "other" }, scope: {}, delegatable: false });
    expect(bare).not.toHaveProperty("constraints");
    const given = options(
      ...["--tool", "other", "--condition", "TIME: hour > 9", "--constraint", "max_file_size=5"],
      ...["--constraint", "max_uses=2"],
    );
    expect(delegationDraft(given, { ...whose, parent })).toMatchObject({
      scope: { conditions: [...parent.scope.conditions, { type: "TIME", expression: "hour > 9" }] },
      constraints: [
        { type: "max_file_size", value: 5 },
        { type: "max_uses", value: 2 },
      ],
    });
  });

  it.each([
    ["--condition", "hour > 9"],
    ["--constraint", "rate_limit"],
    ["--constraint", "rate_limit={"],
    ["--ttl", "soon"],
  ])("%s %s is explained", (flag, value) => {
    expect(() => options("--tool", "t", flag, value)).toThrow(/write it as|such as/);
  });
});
