import { readFileSync } from "node:fs";
import { isFailure } from "@sallyport/protocol";
import { describe, expect, it } from "vitest";
import { forge, HEADER, KEYS, OUTSIDE } from "./fixtures/token-forge.ts";
import { TokenChecker } from "./token-checker.ts";
import { DEFAULT_TOKEN_RULES } from "./token-checks.ts";

const DOC = readFileSync(new URL("../../../../../docs/tokens.md", import.meta.url), "utf8");
const [, example = ""] = /```json\n([\s\S]*?)```/.exec(DOC) ?? [];

describe("docs/tokens.md", () => {
  const claims = JSON.parse(example);
  const check = (payload: Record<string, unknown>, header: object = {}) =>
    new TokenChecker({ keys: KEYS }).check(
      forge(payload, { ...HEADER, kid: OUTSIDE.kid, ...header }, OUTSIDE),
      {
        caller: { agent: claims.agent_did, tenant: claims.tenant_id },
        tool: claims.tool_id,
        version: "2.0.0",
        at: claims.iat * 1000,
      },
    );

  it("shows a token that passes, with nothing in it that could be left out unnoticed [L3-PRM-1]", () => {
    expect(isFailure(check(claims))).toBe(false);
    const optional = ["filesystem_permissions", "network_permissions", "credential_permissions"];
    for (const name of Object.keys(claims).filter((claim) => !optional.includes(claim)))
      expect(check({ ...claims, [name]: undefined }), name).toMatchObject({
        code: "E3207",
        issues: [{ path: `/${name}` }],
      });
  });

  it("names the headers that are refused, and the defaults", () => {
    const [, list = ""] = /none of (.*?) \|/.exec(DOC) ?? [];
    const names = [...list.matchAll(/`(\w+)`/g)].map(([, name = ""]) => name);
    expect(names).toHaveLength(8);
    for (const name of names) expect(check(claims, { [name]: "x" }), name).toMatchObject({ code: "E3201" });
    expect(isFailure(check(claims, { other: "x" }))).toBe(false);
    expect(DOC).toContain(`skewSeconds: ${DEFAULT_TOKEN_RULES.skewMs / 1000}`);
    expect(DOC).toContain(`maxLifeSeconds: ${DEFAULT_TOKEN_RULES.maxLifeMs / 1000}`);
  });
});
