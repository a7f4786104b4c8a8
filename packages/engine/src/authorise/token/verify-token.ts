import { verify } from "node:crypto";
import { type Failure, isFailure, type JsonObject } from "@sallyport/protocol";
import { decodeBase64url } from "./base64url.ts";
import { invalidToken, readPart, splitToken, type TokenParts } from "./compact-token.ts";
import type { KeySet, VerificationKey } from "./key-set.ts";
import { headerProblem } from "./token-header.ts";

/** A payload whose signature holds. What it says has not been looked at. */
export interface VerifiedToken {
  payload: JsonObject;
  key: VerificationKey;
}

/**
 * Checks a compact JWS: RS256 and nothing else, by a key of the set and by no key the token brings along. Answers
 * E3201 for everything that is not exactly that, and reads the payload only once the signature holds.
 */
export function verifyToken(token: string, keys: KeySet): VerifiedToken | Failure {
  const parts = splitToken(token);
  if (isFailure(parts)) return parts;
  const known = keys.recall(parts.header);
  const key = known ?? keyFor(parts.header, keys);
  if (isFailure(key)) return key;
  if (!signatureHolds(token, parts, key)) return wrongSignature();
  if (!known) keys.remember(parts.header, key);
  const payload = readPart(parts.payload, "payload");
  return isFailure(payload) ? payload : { payload: payload.value, key };
}

function keyFor(part: string, keys: KeySet): VerificationKey | Failure {
  const header = readPart(part, "header");
  if (isFailure(header)) return header;
  const problem = headerProblem(header.value);
  if (problem) return problem;
  const { kid } = header.value;
  return keys.find(typeof kid === "string" ? kid : undefined) ?? unknownKey(kid !== undefined);
}

function signatureHolds(token: string, { header, payload, signature }: TokenParts, key: VerificationKey) {
  const bytes = decodeBase64url(signature);
  if (!bytes) return false;
  const signed = Buffer.from(token.slice(0, header.length + 1 + payload.length), "latin1");
  return verify("RSA-SHA256", signed, key.publicKey, bytes);
}

function unknownKey(named: boolean): Failure {
  return named
    ? invalidToken(
        "The token is signed with a key that is not known here, or not any more.",
        "Get a fresh token; if that is refused too, the operator adds the issuer's public key.",
      )
    : invalidToken(
        "The token does not say which key signed it.",
        "Have it issued with the kid of its key: without one it is only taken where there is a single key.",
      );
}

function wrongSignature(): Failure {
  return invalidToken(
    "The token's signature does not hold.",
    "Send the token exactly as its issuer gave it, or get a fresh one.",
  );
}
