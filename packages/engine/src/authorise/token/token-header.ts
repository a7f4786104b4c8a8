import type { Failure, JsonObject } from "@sallyport/protocol";
import { invalidToken } from "./compact-token.ts";

/**
 * Header parameters that bring a key along, point to one, or change what the signature is over. A verifier that
 * honoured them would let the sender choose how it is checked, so a token with one of them is refused.
 */
const REFUSED = ["crit", "b64", "jwk", "jku", "x5c", "x5u", "enc", "zip"];

const RS256 = "Have the token signed with RS256 (RSA, SHA-256); no other algorithm is taken.";

/** Why a token with this header is not even checked; undefined when it is. */
export function headerProblem(header: JsonObject): Failure | undefined {
  if (header.alg !== "RS256") return invalidToken("The token is not signed with RS256.", RS256);
  const refused = REFUSED.find((name) => Object.hasOwn(header, name));
  if (refused !== undefined)
    return invalidToken(
      `The token's header has "${refused}", which is not accepted.`,
      "Have the token issued with no more than alg, typ and kid in its header.",
    );
  const { typ = "JWT", kid = "" } = header;
  if (typeof typ !== "string" || typ.toUpperCase() !== "JWT")
    return invalidToken("The token is not a JWT.", 'Have it issued with the typ "JWT".');
  return typeof kid === "string"
    ? undefined
    : invalidToken("The token's kid is not a text.", "Have it name its key by the kid its issuer publishes.");
}
