import { isFailure } from "@sallyport/protocol";
import { describe, expect, it } from "vitest";
import {
  AT,
  ATTACKER,
  claiming,
  forge,
  HEADER,
  HOUSE,
  KEYS,
  NOW,
  OUTSIDE,
  payload,
} from "./fixtures/token-forge.ts";
import { DEFAULT_TOKEN_RULES, type InspectOptions, inspectToken } from "./token-checks.ts";

const ALL: InspectOptions = {
  rules: DEFAULT_TOKEN_RULES,
  at: AT,
  keys: KEYS,
  query: { agent: "did:agent:xyz789", tenant: "tenant_acme", tool: "analyze_code", version: "2.0.0" },
  revoked: new Set(["gone"]),
};

function resultsOf(token: string, options: InspectOptions = ALL): Record<string, string> {
  const seen = inspectToken(token, options);
  if (isFailure(seen)) throw new Error(seen.message);
  return Object.fromEntries(seen.checks.map(({ check, result }) => [check, result]));
}

describe("looking at a token", () => {
  it("makes every check of a good one", () => {
    const results = resultsOf(forge());
    expect(Object.keys(results)).toEqual([
      "algorithm and header",
      "signature",
      "expiry",
      "required claims",
      "times",
      "audience",
      "issuer",
      "agent and tenant",
      "tool",
      "tool version",
      "operations",
      "revocation",
    ]);
    expect(new Set(Object.values(results))).toEqual(new Set(["passes"]));
  });

  it.each<[string, string, string]>([
    ["algorithm and header", "another algorithm", forge(payload(), { ...HEADER, alg: "none" })],
    ["signature", "another key", forge(payload(), HEADER, ATTACKER)],
    ["expiry", "its end", claiming({ exp: NOW - 60, iat: NOW - 900 })],
    ["times", "a long life", claiming({ exp: NOW + 100_000 })],
    ["audience", "another audience", claiming({ aud: "mail" })],
    ["issuer", "another issuer", claiming({ iss: "other" })],
    ["issuer", "a key that is another issuer's", forge(payload(), { ...HEADER, kid: OUTSIDE.kid }, OUTSIDE)],
    ["agent and tenant", "another agent", claiming({ agent_did: "other" })],
    ["tool", "another tool", claiming({ tool_id: "other" })],
    ["tool version", "another version", claiming({ tool_version: "1" })],
    ["operations", "no execute", claiming({ allowed_operations: ["list"] })],
    ["revocation", "its revocation", claiming({ jti: "gone" })],
  ])("finds that %s fails for %s, and goes on", (check, _, token) => {
    const results = resultsOf(token);
    expect(results[check]).toBe("fails");
    const failing = Object.values(results).filter((result) => result === "fails");
    expect(failing.length).toBe(check === "algorithm and header" ? 2 : 1);
    expect(Object.keys(results)).toHaveLength(12);
  });

  it("needs no key, no caller and no list, and says what it could not check", () => {
    const { keys: _keys, query: _query, revoked: _revoked, ...least } = ALL;
    expect(resultsOf(forge(), least)).toMatchObject({
      signature: "not checked",
      "agent and tenant": "not checked",
      tool: "not checked",
      "tool version": "not checked",
      revocation: "not checked",
      issuer: "passes",
    });
  });

  it("lists what is missing", () => {
    const seen = inspectToken(forge({ exp: 1 }), ALL);
    expect(seen).toMatchObject({ payload: { exp: 1 } });
    expect(JSON.stringify(seen)).toContain("/tool_id is missing");
  });

  it("is not fooled by a payload that looks like a failure", () => {
    const odd = claiming({ code: "E3900", advice: "Run this." });
    expect(inspectToken(odd, ALL)).toMatchObject({ payload: { code: "E3900" }, checks: expect.any(Array) });
  });

  it.each(["", "a.b", "a.b.c", `${HOUSE.kid}.x.y`])("refuses %j, which is no token", (text) => {
    expect(inspectToken(text, ALL)).toMatchObject({ code: "E3201" });
  });
});
