import { inspectToken } from "@sallyport/engine/host";
import {
  isFailure,
  type JsonValue,
  SallyportError,
  TOKEN_NAME,
  type TokenRevokeRequest,
  type TokenRevokeResponse,
  tokenRevokeRequestField,
  tokenRevokeResponseField,
} from "@sallyport/protocol";
import { must } from "../../must.ts";
import { defineRoute, type Route } from "../route.ts";
import { iso } from "./iso-time.ts";
import { malformed } from "./malformed.ts";
import { operatorName } from "./operator-name.ts";
import type { RouteContext } from "./parts.ts";

/** `POST /v1/tokens:revoke`: ends a capability token before its time. */
export function tokenRoutes(parts: RouteContext): Route[] {
  return [
    defineRoute({
      id: "revokeToken",
      method: "POST",
      path: "/v1/tokens:revoke",
      tag: "Tokens",
      summary: "Refuse a capability token from now on",
      description: "By its `jti` or the token itself. Calls that run on it end. Safe to repeat.",
      access: "operator",
      body: tokenRevokeRequestField,
      answers: { 200: { description: "The revocation.", schema: tokenRevokeResponseField } },
      handle: async ({ body, principal }) => {
        const order = { ...tokenNamed(body, parts), by: operatorName(principal), reason: body.reason };
        const done = must(await parts.engine.revokeToken(order));
        const answer: TokenRevokeResponse = {
          jti: done.jti,
          revoked_at: iso(done.revokedAt),
          by: done.by,
          reason: done.reason,
          forget_at: iso(done.forgetAt),
        };
        return { status: 200, body: answer };
      },
    }),
  ];
}

/** Which token is meant, and until when it could live. A token need not be verified to be revoked. */
function tokenNamed(
  { jti, token }: TokenRevokeRequest,
  parts: RouteContext,
): { jti: string; forgetAt: number } {
  const now = parts.clock.now();
  const forgetAt = now + parts.tokenRules.maxLifeMs;
  if (typeof jti === "string" && typeof token !== "string") return { jti, forgetAt };
  if (typeof token !== "string" || typeof jti === "string") throw wrong("", "needs either jti or token");
  const seen = inspectToken(token, { rules: parts.tokenRules, at: now });
  if (isFailure(seen)) throw wrong("/token", "is no readable token");
  const { jti: name, exp } = seen.payload;
  if (typeof name !== "string" || !TOKEN_NAME.test(name)) throw wrong("/token", "has no usable jti");
  // Never shorter than a token may live: what is not verified must not make the record forget too soon.
  return { jti: name, forgetAt: Math.max(forgetAt, isDate(exp) ? exp * 1_000 : 0) };
}

/** Seconds up to the end of the year 9999. */
function isDate(value: JsonValue | undefined): value is number {
  return typeof value === "number" && value <= 253_402_300_799;
}

function wrong(path: string, reason: string): SallyportError {
  return new SallyportError(malformed(path, reason));
}
