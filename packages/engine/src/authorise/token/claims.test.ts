import { describe, expect, it } from "vitest";
import { type MintClaims, mintToken } from "./claims.ts";
import { AT, HOUSE, KEYS, payload, QUERY } from "./fixtures/token-forge.ts";
import { TokenChecker } from "./token-checker.ts";

const LEAST: MintClaims = {
  jti: "token-1",
  issuer: "sallyport",
  tool: "analyze_code",
  versions: "^2.0.0",
  agent: "did:agent:xyz789",
  tenant: "tenant_acme",
  operations: ["execute"],
  issuedAt: AT + 999,
  expiresAt: AT + 900_999,
};

const partsOf = (token: string) =>
  token.split(".", 2).map((part) => JSON.parse(Buffer.from(part, "base64url").toString()));

describe("a minted token [L3-PRM-1]", () => {
  it.each(["x ", "", "a\tb", "\u0000"])("is not made with a jti that cannot be revoked: %j", (jti) => {
    expect(() => mintToken({ ...LEAST, jti }, HOUSE)).toThrow(/E3207/);
  });

  it("has the claims of the specification and a jti, and no more", () => {
    const [header, claims] = partsOf(
      mintToken(
        {
          ...LEAST,
          filesystem: { paths: ["/workspace/tool1"], mode: "rw" },
          network: { hosts: ["api.example.com"], ports: [443] },
          credentials: ["aws_s3_read"],
        },
        HOUSE,
      ),
    );
    expect(header).toEqual({ alg: "RS256", typ: "JWT", kid: HOUSE.kid });
    expect(claims).toEqual(payload());
  });

  it("passes the check, and allows to touch nothing that was not asked for", () => {
    expect(new TokenChecker({ keys: KEYS }).check(mintToken(LEAST, HOUSE), QUERY)).toMatchObject({
      jti: "token-1",
      permissions: { filesystem: [], network: [], credentials: [] },
    });
  });
});
