import { isFailure } from "@sallyport/protocol";
import { describe, expect, it } from "vitest";
import type { TokenClaims } from "../../ports/authority.ts";
import {
  AT,
  claiming,
  forge,
  HEADER,
  HOUSE,
  KEYS,
  NOW,
  OUTSIDE,
  payload,
  QUERY,
  ROTATED_OUT,
  setOf,
} from "./fixtures/token-forge.ts";
import type { KeySet } from "./keys.ts";
import { TokenChecker, type TokenCheckerOptions } from "./token-checker.ts";

const checkerOf = (options: Partial<TokenCheckerOptions> = {}) =>
  new TokenChecker({ keys: KEYS, ...options });

const CLAIMS: TokenClaims = {
  jti: "token-1",
  issuer: "sallyport",
  kid: HOUSE.kid,
  tool: "analyze_code",
  versions: "^2.0.0",
  agent: "did:agent:xyz789",
  tenant: "tenant_acme",
  operations: ["execute"],
  permissions: {
    filesystem: [{ path: "/workspace/tool1", mode: "rw" }],
    network: [{ host: "api.example.com", port: 443 }],
    credentials: ["aws_s3_read"],
  },
  issuedAt: AT,
  expiresAt: AT + 900_000,
};

describe("a good token [L3-PRM-1]", () => {
  it("says what it allows, the first time and from memory", () => {
    const checker = checkerOf();
    expect(checker.check(forge(), QUERY)).toEqual(CLAIMS);
    expect(checker.check(forge(), QUERY)).toEqual(CLAIMS);
  });

  it("comes from an outside issuer too, signed with its own key", () => {
    const token = forge(payload({ iss: "l02-agent-runtime" }), { ...HEADER, kid: OUTSIDE.kid }, OUTSIDE);
    expect(checkerOf().check(token, QUERY)).toMatchObject({ issuer: "l02-agent-runtime" });
  });

  it("may leave out what it does not allow, typ, and the fraction of a second", () => {
    const claims = payload({
      filesystem_permissions: undefined,
      network_permissions: undefined,
      credential_permissions: undefined,
      exp: NOW + 900.5,
      nbf: NOW,
      aud: ["mail", "sallyport"],
      sub: "whoever",
    });
    expect(
      checkerOf().check(forge(claims, { alg: "RS256", kid: HOUSE.kid, typ: "jwt" }), QUERY),
    ).toMatchObject({
      permissions: { filesystem: [], network: [], credentials: [] },
      expiresAt: AT + 900_500,
    });
  });

  it("needs no kid where there is one key", () => {
    const only = checkerOf({ keys: setOf(HOUSE) });
    expect(only.check(forge(payload(), { alg: "RS256" }), QUERY)).toEqual(CLAIMS);
    for (const kid of [1, null, "", ["house-1"]])
      expect(only.check(forge(payload(), { alg: "RS256", kid }), QUERY)).toMatchObject({ code: "E3201" });
  });

  it("may name a pattern of tools, and is asked for its version only when there is one", () => {
    const { version: _, ...access } = QUERY;
    const token = claiming({ tool_id: "analyze_*", tool_version: "^1.0.0" });
    expect(checkerOf().check(token, access)).toMatchObject({ tool: "analyze_*", versions: "^1.0.0" });
  });

  it("allows every port on every host it names", () => {
    const network = { allowed_hosts: ["a", "b"], allowed_ports: [80, 443] };
    const claims = checkerOf().check(claiming({ network_permissions: network }), QUERY) as TokenClaims;
    expect(claims.permissions.network).toHaveLength(4);
  });

  it("cannot be changed by whoever it is handed to", () => {
    const claims = checkerOf().check(forge(), QUERY) as TokenClaims;
    expect(() => claims.permissions.filesystem.push({ path: "/", mode: "rw" })).toThrow(TypeError);
    expect(() => Object.assign(claims.permissions.network[0] ?? {}, { host: "evil" })).toThrow(TypeError);
    expect(() => Object.assign(claims, { agent: "evil" })).toThrow(TypeError);
  });
});

describe("no token [L3-PRM-1]", () => {
  it.each([undefined, ""])("%j gets nobody in, and the advice says where to get one", (token) => {
    const answer = checkerOf().check(token, QUERY);
    expect(answer).toMatchObject({ code: "E3201", advice: expect.stringContaining("sallyport token mint") });
  });
});

describe("what a token lacks", () => {
  it("is listed whole, with pointers [L3-PRM-1]", () => {
    const answer = checkerOf().check(
      forge({ exp: "soon", network_permissions: { allowed_hosts: [1] } }),
      QUERY,
    );
    if (!isFailure(answer)) throw new Error("passed");
    expect(answer.code).toBe("E3207");
    expect(answer.issues?.map(({ path }) => path).toSorted()).toEqual([
      "/agent_did",
      "/allowed_operations",
      "/exp",
      "/iat",
      "/iss",
      "/jti",
      "/network_permissions/allowed_hosts",
      "/network_permissions/allowed_ports",
      "/tenant_id",
      "/tool_id",
      "/tool_version",
    ]);
  });
});

describe("time", () => {
  const expiring = claiming({ exp: NOW + 60 });
  it.each([
    ["a second before the end", 59_000, undefined],
    ["within the skew", 89_999, undefined],
    ["when the skew is over", 90_000, "E3202"],
  ])("%s [L3-PRM-1]", (_, later, code) => {
    const checker = checkerOf();
    checker.check(expiring, QUERY);
    const answers = [checker, checkerOf()].map((one) => one.check(expiring, { ...QUERY, at: AT + later }));
    for (const answer of answers) expect(isFailure(answer) ? answer.code : undefined).toBe(code);
  });

  it.each<[string, Partial<TokenCheckerOptions>, Record<string, unknown>, boolean]>([
    ["the issuer's clock may be ahead by the skew", {}, { iat: NOW + 30 }, true],
    ["and no more", { skewMs: 1_000 }, { iat: NOW + 30 }, false],
    ["a token's life has a limit that can be set", { maxLifeMs: 900_000 }, {}, true],
    ["and no longer", { maxLifeMs: 60_000 }, {}, false],
  ])("%s", (_, options, change, passes) => {
    const answer = checkerOf(options).check(claiming(change), QUERY);
    if (passes) expect(isFailure(answer)).toBe(false);
    else expect(answer).toMatchObject({ code: "E3201" });
  });
});

describe("revocation [L3-PRM-1]", () => {
  const revocation = { jti: "token-1", revokedAt: AT, by: "ann", reason: "lost", forgetAt: AT + 900_000 };

  it("ends a token that was verified already", () => {
    const checker = checkerOf();
    expect(checker.check(forge(), QUERY)).toEqual(CLAIMS);
    checker.revoke("token-1");
    expect(checker.check(forge(), QUERY)).toMatchObject({ code: "E3208" });
    expect(checker.recheck(CLAIMS, QUERY)).toMatchObject({ code: "E3208" });
    expect(checker.check(claiming({ jti: "token-2" }), QUERY)).toMatchObject({ jti: "token-2" });
  });

  it.each([
    ["old-1", AT + 30_000, "E3208"],
    ["old-1", AT + 30_001, "passes"],
    ["old-0", AT + 30_001, "E3208"],
    ["token-1", AT + 929_999, "E3208"],
    ["for good", AT + 929_999, "E3208"],
  ])(
    "of %s at %d: %s; it is forgotten only when the token has expired for everybody",
    (jti, at, expected) => {
      const checker = checkerOf();
      const old = Array.from({ length: 5_000 }, (_, n) => ({ jti: `old-${n}`, forgetAt: AT }));
      checker.revoked([revocation, { jti: "old-0", forgetAt: AT + 1_000 }, ...old]);
      checker.revoke("for good");
      const answer = checker.recheck({ ...CLAIMS, jti }, { ...QUERY, at });
      expect(isFailure(answer) ? answer.code : "passes").toBe(expected);
    },
  );
});

describe("claims verified earlier", () => {
  it("pass again while nothing changed", () => {
    expect(checkerOf().recheck(CLAIMS, QUERY)).toBe(CLAIMS);
  });

  it.each([
    ["expired", { at: AT + 930_000 }, "E3202"],
    ["another agent", { caller: { agent: "other", tenant: "tenant_acme" } }, "E3201"],
    ["another tenant", { caller: { agent: "did:agent:xyz789", tenant: "other" } }, "E3201"],
    ["another tool", { tool: "delete_code" }, "E3201"],
    ["another version", { version: "3.0.0" }, "E3201"],
    ["a version before the release", { version: "2.0.0-rc.1" }, "E3201"],
  ])("are refused for %s [L3-PRM-1]", (_, change, code) => {
    expect(checkerOf().recheck(CLAIMS, { ...QUERY, ...change })).toMatchObject({ code });
  });

  it.each<[string, Partial<TokenClaims>, Partial<TokenCheckerOptions>]>([
    ["the key they were verified with is not in force any more", { kid: ROTATED_OUT.kid }, {}],
    ["their issuer is trusted no longer", {}, { issuers: ["other"] }],
    ["their range is none", { versions: "?" }, {}],
  ])("are refused when %s", (_, change, options) => {
    expect(checkerOf(options).recheck({ ...CLAIMS, ...change }, QUERY)).toMatchObject({ code: "E3201" });
  });
});

describe("the keys", () => {
  it("count from the moment they change, also for tokens that were verified [L3-PRM-1]", () => {
    let keys: KeySet = setOf(HOUSE, ROTATED_OUT);
    const checker = checkerOf({ keys: () => keys });
    const old = forge(payload(), { ...HEADER, kid: ROTATED_OUT.kid }, ROTATED_OUT);
    expect(checker.check(old, QUERY)).toEqual({ ...CLAIMS, kid: ROTATED_OUT.kid });
    expect(checker.check(forge(), QUERY)).toEqual(CLAIMS);
    keys = setOf(HOUSE);
    expect(checker.check(old, QUERY)).toMatchObject({ code: "E3201" });
    expect(checker.check(forge(), QUERY)).toEqual(CLAIMS);
  });

  it("that cannot be had, or are none, let nobody in", () => {
    const lost = () => {
      throw new Error("disk gone");
    };
    expect(checkerOf({ keys: lost }).check(forge(), QUERY)).toMatchObject({ code: "E3227" });
    expect(checkerOf({ keys: setOf() }).check(forge(), QUERY)).toMatchObject({ code: "E3201" });
  });
});

describe("memory", () => {
  it("has its size, forgets the longest unused, and never a failure", () => {
    const checker = checkerOf({ cacheSize: 2 });
    const tokens = ["a", "b", "c"].map((jti) => claiming({ jti }));
    for (const token of [...tokens, ...tokens]) expect(isFailure(checker.check(token, QUERY))).toBe(false);
    expect(isFailure(checkerOf({ cacheSize: 0 }).check(forge(), QUERY))).toBe(false);
  });

  it("tells apart what the same token is used for, whatever it passed for before", () => {
    const checker = checkerOf();
    const token = claiming({ user_did: "ann" });
    const { caller } = QUERY;
    const uses = [{ version: undefined }, {}, { caller: { ...caller, user: "ann" } }];
    const others = [{ agent: "other" }, { tenant: "other" }, { user: "bob" }];
    for (const use of uses) {
      expect(checker.check(token, { ...QUERY, ...use })).toEqual({ ...CLAIMS, user: "ann" });
      for (const other of [
        { tool: "delete_code" },
        { version: "3.0.0" },
        ...others.map((name) => ({ caller: { ...caller, ...name } })),
      ])
        expect(checker.check(token, { ...QUERY, ...use, ...other })).toMatchObject({ code: "E3201" });
    }
    expect(checker.check(token, { ...QUERY, at: AT - 60_000 })).toMatchObject({ code: "E3201" });
    expect(checker.check(token, { ...QUERY, at: AT + 930_000 })).toMatchObject({ code: "E3202" });
  });
});
