import { type KeyObject, sign, verify } from "node:crypto";
import {
  countNames,
  type Failure,
  failure,
  isFailure,
  type JsonObject,
  type JsonValue,
  parseJsonObject,
} from "@sallyport/protocol";
import type { KeySet, VerificationKey } from "./keys.ts";

const MAX_TOKEN_CHARS = 8 * 1024;
const MAX_DEPTH = 16;
const UTF8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/**
 * Header parameters that bring a key along, point to one, or change what the signature is over. A verifier that
 * honoured them would let the sender choose how the token is checked, so a token with one of them is refused.
 */
const REFUSED_PARAMETERS = ["crit", "b64", "jwk", "jku", "x5c", "x5u", "enc", "zip"];

/** The private key that tokens are signed with, and its name. */
export interface SigningKey {
  kid: string;
  privateKey: KeyObject;
}

/** A payload whose signature holds. Its claims are not checked yet. */
interface VerifiedToken {
  payload: JsonObject;
  key: VerificationKey;
}

/** A token taken apart. Nothing in it is verified. */
export interface DecodedToken {
  header: JsonObject;
  payload: JsonObject;
}

/** E3201 with what is wrong; never quotes the token. */
export function invalidToken(message: string, advice?: string): Failure {
  return failure("E3201", { message, ...(advice !== undefined && { advice }) });
}

/** Signs a payload as a compact JWS with RS256. Throws when the key cannot sign. */
export function signToken(payload: JsonObject, { kid, privateKey }: SigningKey): string {
  const signed = `${encodePart({ alg: "RS256", typ: "JWT", kid })}.${encodePart(payload)}`;
  return `${signed}.${sign("RSA-SHA256", Buffer.from(signed), privateKey).toString("base64url")}`;
}

/**
 * Verifies a compact JWS: RS256 only, with a key of the set, never with a key that the token brings along. Answers E3201
 * for anything else. The payload is read only after the signature holds.
 */
export function verifyToken(token: string, keys: KeySet): VerifiedToken | Failure {
  const parts = splitToken(token);
  if (isFailure(parts)) return parts;
  const known = keys.verifiedHeaders.get(parts.header);
  const key = known ?? keyFor(parts.header, keys);
  if (isFailure(key)) return key;
  if (!signatureHolds(token, parts, key))
    return invalidToken(
      "The token's signature does not hold.",
      "Send the token exactly as its issuer gave it, or get a fresh one.",
    );
  // Only after verification: tokens of strangers must not push known headers out.
  if (!known) keys.verifiedHeaders.set(parts.header, key);
  const payload = readObject(parts.payload);
  return typeof payload === "string" ? unreadable("payload", payload) : { payload, key };
}

/** Header and payload, unverified; E3201 when the token cannot be read. */
export function decodeToken(token: string): DecodedToken | Failure {
  const parts = splitToken(token);
  if (isFailure(parts)) return parts;
  const header = readObject(parts.header);
  if (typeof header === "string") return unreadable("header", header);
  const payload = readObject(parts.payload);
  return typeof payload === "string" ? unreadable("payload", payload) : { header, payload };
}

/** Why a token with this header is refused before its signature is checked; undefined when it is not. */
export function headerProblem(header: JsonObject): Failure | undefined {
  if (header.alg !== "RS256")
    return invalidToken(
      "The token is not signed with RS256.",
      "Have the token signed with RS256 (RSA, SHA-256); no other algorithm is accepted.",
    );
  const refused = REFUSED_PARAMETERS.find((name) => Object.hasOwn(header, name));
  if (refused !== undefined)
    return invalidToken(
      `The token's header has "${refused}", which is not accepted.`,
      "Have the token issued with no more than alg, typ and kid in its header.",
    );
  const { typ = "JWT", kid = "" } = header;
  if (typeof typ !== "string" || typ.toUpperCase() !== "JWT")
    return invalidToken("The token is not a JWT.", 'Have it issued with the typ "JWT".');
  if (typeof kid === "string") return undefined;
  return invalidToken(
    "The token's kid is not a text.",
    "Have it name its key by the kid its issuer publishes.",
  );
}

interface TokenParts {
  header: string;
  payload: string;
  signature: string;
}

const NOT_BASE64URL = "is not base64url without padding";
const RESEND =
  "Send the token exactly as its issuer gave it: three parts in base64url with dots between them.";

function splitToken(token: string): TokenParts | Failure {
  if (token.length > MAX_TOKEN_CHARS)
    return invalidToken(`The token is longer than ${MAX_TOKEN_CHARS} characters.`, RESEND);
  const first = token.indexOf(".");
  const second = token.indexOf(".", first + 1);
  if (first < 1 || second <= first + 1 || second === token.length - 1 || token.includes(".", second + 1))
    return invalidToken("The token does not have three parts.", RESEND);
  return {
    header: token.slice(0, first),
    payload: token.slice(first + 1, second),
    signature: token.slice(second + 1),
  };
}

function keyFor(part: string, keys: KeySet): VerificationKey | Failure {
  const header = readObject(part);
  if (typeof header === "string") return unreadable("header", header);
  const problem = headerProblem(header);
  if (problem) return problem;
  const { kid } = header;
  const key = keys.find(typeof kid === "string" ? kid : undefined);
  if (key) return key;
  return kid === undefined
    ? invalidToken(
        "The token does not say which key signed it.",
        "Have it issued with the kid of its key: a token without one is accepted only where there is a single key.",
      )
    : invalidToken(
        "The token is signed with a key that is not known here, or not any more.",
        "Get a fresh token; if that is refused too, the operator adds the issuer's public key.",
      );
}

function signatureHolds(token: string, parts: TokenParts, key: VerificationKey): boolean {
  const signature = decodeBase64url(parts.signature);
  if (!signature) return false;
  const signed = Buffer.from(token.slice(0, parts.header.length + 1 + parts.payload.length), "latin1");
  return verify("RSA-SHA256", signed, key.publicKey, signature);
}

function unreadable(part: "header" | "payload", problem: string): Failure {
  const advice =
    problem === NOT_BASE64URL ? RESEND : "Have the token issued anew, with well-formed JSON in it.";
  return invalidToken(`The token's ${part} ${problem}.`, advice);
}

/** Only the canonical spelling is decoded: every other text has the same bytes only for some decoders. */
function decodeBase64url(text: string): Buffer | undefined {
  const bytes = Buffer.from(text, "base64url");
  return bytes.toString("base64url") === text ? bytes : undefined;
}

/**
 * The object of a header or payload, read so that every parser understands it in the same way; otherwise what is wrong, as
 * a text: an object of the token can look like a failure. A name that stands twice, at any depth, is refused: parsers
 * differ in which one counts.
 */
function readObject(part: string): JsonObject | string {
  const bytes = decodeBase64url(part);
  if (!bytes) return NOT_BASE64URL;
  const text = decodeUtf8(bytes);
  if (text === undefined) return "is not UTF-8 text";
  const value = parseJsonObject(text);
  if (!value) return "is not a JSON object";
  const members = countMembers(value, MAX_DEPTH);
  if (Number.isNaN(members)) return "is nested too deeply, or names a member __proto__";
  return members === countNames(text) ? value : "names a member twice";
}

function decodeUtf8(bytes: Buffer): string | undefined {
  try {
    return UTF8.decode(bytes);
  } catch {
    return undefined;
  }
}

/** Members at all depths; NaN when the value is too deep or has a member __proto__. */
function countMembers(value: JsonValue, depth: number): number {
  if (typeof value !== "object" || value === null) return 0;
  if (depth === 0) return Number.NaN;
  if (Array.isArray(value))
    return value.reduce((members: number, item) => members + countMembers(item, depth - 1), 0);
  let members = 0;
  // The value is fresh from the parser, so every name it has is its own.
  for (const name in value) {
    if (name === "__proto__") return Number.NaN;
    members += 1 + countMembers(value[name] ?? null, depth - 1);
  }
  return members;
}

function encodePart(value: JsonObject): string {
  return Buffer.from(JSON.stringify(value)).toString("base64url");
}
