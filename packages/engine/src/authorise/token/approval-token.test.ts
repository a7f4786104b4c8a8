import type { ErrorCode } from "@sallyport/protocol";
import { describe, expect, it } from "vitest";
import { type ApprovalPass, mintApprovalToken, readApprovalToken } from "./approval-token.ts";
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
  QUERY,
  setOf,
} from "./fixtures/token-forge.ts";
import { TokenChecker } from "./token-checker.ts";

const PASS: ApprovalPass = {
  approvalId: "ap-1",
  callId: "call-1",
  tool: "analyze_code",
  approver: "ann",
  level: 1,
  expiresAt: AT + 3_600_000,
};
const token = mintApprovalToken({ ...PASS, issuedAt: AT }, HOUSE);
const wire = {
  invocation_id: "call-1",
  tool_id: "analyze_code",
  approver: "ann",
  approval_level: 1,
  exp: NOW + 3_600,
  iat: NOW,
  iss: "l03-tool-execution",
  jti: "ap-1",
};

describe("an approval token", () => {
  it("says who may answer which approval, in the words of the specification", () => {
    expect(JSON.parse(Buffer.from(token.split(".")[1] ?? "", "base64url").toString())).toEqual(wire);
    expect(readApprovalToken(token, KEYS, AT)).toEqual(PASS);
  });

  it.each<[string, Record<string, unknown>, ErrorCode]>([
    ["over", { exp: NOW }, "E3202"],
    ["from the future", { iat: NOW + 31 }, "E3201"],
    ["of another issuer", { iss: "sallyport" }, "E3201"],
    ["without a call", { invocation_id: undefined }, "E3207"],
    ["without an approver", { approver: "" }, "E3207"],
    ["with a level that is a text", { approval_level: "1" }, "E3207"],
    ["with half a level", { approval_level: 1.5 }, "E3207"],
    ["without an end", { exp: undefined }, "E3207"],
    ["without an approval", { jti: undefined }, "E3207"],
  ])("%s is refused", (_, change, code) => {
    expect(readApprovalToken(forge({ ...wire, ...change }), KEYS, AT)).toMatchObject({ code });
  });

  it("is refused from anybody but the house", () => {
    const outside = forge(wire, { ...HEADER, kid: OUTSIDE.kid }, OUTSIDE);
    expect(readApprovalToken(outside, KEYS, AT)).toMatchObject({ code: "E3201" });
    expect(readApprovalToken(forge(wire, HEADER, ATTACKER), KEYS, AT)).toMatchObject({ code: "E3201" });
    expect(readApprovalToken("x.y.z", KEYS, AT)).toMatchObject({ code: "E3201" });
  });

  it("is not a capability token, nor the other way round [L3-PRM-1]", () => {
    const checker = new TokenChecker({ keys: setOf(HOUSE), issuers: ["l03-tool-execution", "sallyport"] });
    expect(checker.check(token, QUERY)).toMatchObject({ code: "E3207" });
    expect(
      checker.check(claiming({ ...wire, ...payload(), iss: "l03-tool-execution" }), QUERY),
    ).toMatchObject({
      code: "E3201",
    });
    expect(readApprovalToken(forge(), KEYS, AT)).toMatchObject({ code: "E3201" });
    expect(readApprovalToken(forge({ ...wire, ...payload() }), KEYS, AT)).toMatchObject({ code: "E3201" });
  });
});
