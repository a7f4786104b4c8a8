import { createPublicKey, hash, type KeyObject } from "node:crypto";
import { type Failure, type Issue, isJsonObject, type JsonObject } from "@sallyport/protocol";
import { keyProblem, unusableKeys, type VerificationKey } from "./key-set.ts";

export interface KeyReading {
  /** Left out: the key's own name, or its thumbprint (RFC 7638). */
  kid?: string;
  /** The issuers the keys may sign for; left out: any that is trusted at all. */
  issuers?: readonly string[];
}

const BLOCK = /-----BEGIN ([A-Z0-9 ]+)-----/g;
const PUBLIC_BLOCKS = ["PUBLIC KEY", "RSA PUBLIC KEY"];
const SECRET_MEMBERS = ["d", "p", "q", "dp", "dq", "qi", "oth", "k"];

/** The one public key of a PEM text (SPKI or PKCS #1); E3227 says why it cannot be used. */
export function keysFromPem(pem: string, { kid, issuers }: KeyReading = {}): VerificationKey[] | Failure {
  const wrong = pemProblem(pem);
  if (wrong !== undefined) return unusableKeys([{ path: "", reason: wrong }]);
  const publicKey = importKey(() => createPublicKey({ key: pem, format: "pem" }));
  const reason = publicKey ? keyProblem(publicKey) : "cannot be read as an RSA public key";
  if (reason !== undefined || !publicKey) return unusableKeys([{ path: "", reason: reason ?? "" }]);
  return [{ kid: kid ?? thumbprint(publicKey), publicKey, ...(issuers && { issuers }) }];
}

function pemProblem(pem: string): string | undefined {
  const kinds = [...pem.matchAll(BLOCK)].map(([, kind = ""]) => kind);
  if (kinds.some((kind) => kind.endsWith("PRIVATE KEY")))
    return "is a private key; give the public one, and keep the private one private";
  if (kinds.length !== 1) return `is in a text with ${kinds.length} PEM blocks; give exactly one`;
  const [kind = ""] = kinds;
  return PUBLIC_BLOCKS.includes(kind) ? undefined : `is given as ${kind}; give it as PUBLIC KEY`;
}

/** The public keys of a JWKS document; E3227 names each key that cannot be used, by its place. */
export function keysFromJwks(document: unknown, { issuers }: KeyReading = {}): VerificationKey[] | Failure {
  const list = isJsonObject(document) ? document.keys : undefined;
  if (!Array.isArray(list)) return unusableKeys([{ path: "/keys", reason: "set has no list named keys" }]);
  const issues: Issue[] = [];
  const keys = list.flatMap((jwk, index): VerificationKey[] => {
    const read = keyFromJwk(jwk);
    if (typeof read !== "string") return [{ ...read, ...(issuers && { issuers }) }];
    issues.push({ path: `/keys/${index}`, reason: read });
    return [];
  });
  return issues.length > 0 ? unusableKeys(issues) : keys;
}

/** The key, or why it cannot be used. */
function keyFromJwk(jwk: unknown): VerificationKey | string {
  const wrong = jwkProblem(jwk);
  if (wrong !== undefined || !isJsonObject(jwk)) return wrong ?? "is not an object";
  const { n, e, kid } = jwk;
  if (typeof n !== "string" || typeof e !== "string") return "has no modulus n or no exponent e";
  const publicKey = importKey(() => createPublicKey({ key: { kty: "RSA", n, e }, format: "jwk" }));
  if (!publicKey) return "cannot be read as an RSA public key";
  return keyProblem(publicKey) ?? { kid: typeof kid === "string" ? kid : thumbprint(publicKey), publicKey };
}

function jwkProblem(jwk: unknown): string | undefined {
  if (!isJsonObject(jwk)) return "is not an object";
  if (SECRET_MEMBERS.some((name) => Object.hasOwn(jwk, name)))
    return "is a private key; give the public one, and keep the private one private";
  if (jwk.kty !== "RSA") return "is not an RSA key";
  if (jwk.use !== undefined && jwk.use !== "sig") return 'is not for signatures (its use is not "sig")';
  if (jwk.alg !== undefined && jwk.alg !== "RS256") return "is for another algorithm than RS256";
  if (!verifies(jwk)) return 'is not for checking signatures (its key_ops lack "verify")';
  return jwk.kid === undefined || typeof jwk.kid === "string" ? undefined : "has a kid that is not a text";
}

function verifies({ key_ops: operations }: JsonObject): boolean {
  return operations === undefined || (Array.isArray(operations) && operations.includes("verify"));
}

/** Undefined when the text is no key: what OpenSSL says about it helps nobody and may quote it. */
function importKey(read: () => KeyObject): KeyObject | undefined {
  try {
    return read();
  } catch {
    return undefined;
  }
}

/** A name that follows from the key alone (RFC 7638). */
export function thumbprint(publicKey: KeyObject): string {
  const { e = "", n = "" } = publicKey.export({ format: "jwk" });
  return hash("sha256", JSON.stringify({ e, kty: "RSA", n }), "base64url");
}
