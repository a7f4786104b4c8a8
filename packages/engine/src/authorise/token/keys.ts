import { createPublicKey, hash, type KeyObject } from "node:crypto";
import { type Failure, failure, type Issue, isJsonObject, type JsonObject } from "@sallyport/protocol";
import { LruMap } from "../../lru-map.ts";

/** A public key that signatures are checked with. */
export interface VerificationKey {
  /** Names the key in a token's header. */
  kid: string;
  publicKey: KeyObject;
  /** The issuers it may sign for; left out: every trusted issuer. */
  issuers?: readonly string[];
}

const MIN_BITS = 2048;
const MIN_EXPONENT = 65_537n;
const MAX_KID = 128;
const MAX_HEADERS = 64;
const PRIVATE = "is a private key; give the public one, and keep the private one private";

/** The keys in force, several at once so that they can be rotated. A set never changes; new keys are a new set. */
export class KeySet {
  readonly #keys: ReadonlyMap<string, VerificationKey>;
  /** The key of each header that was part of a verified token, so that the header is not read again. */
  readonly verifiedHeaders = new LruMap<string, VerificationKey>(MAX_HEADERS);

  constructor(keys: ReadonlyMap<string, VerificationKey>) {
    this.#keys = keys;
  }

  get kids(): string[] {
    return [...this.#keys.keys()];
  }

  get keys(): VerificationKey[] {
    return [...this.#keys.values()];
  }

  /** The key a token names. Without a kid: the only key of the set, or undefined when there are several. */
  find(kid: string | undefined): VerificationKey | undefined {
    if (kid !== undefined) return this.#keys.get(kid);
    const [only] = this.#keys.values();
    return this.#keys.size === 1 ? only : undefined;
  }
}

/** Makes a set; E3227 names every key that is too weak, of the wrong kind, or has the kid of another. */
export function keySetOf(entries: Iterable<VerificationKey>): KeySet | Failure {
  const keys = new Map<string, VerificationKey>();
  const issues: Issue[] = [];
  let index = 0;
  for (const entry of entries) {
    const reason = keyProblem(entry.publicKey) ?? kidProblem(entry.kid, keys);
    if (reason !== undefined) issues.push({ path: `/${index}`, reason });
    keys.set(entry.kid, Object.freeze({ ...entry }));
    index += 1;
  }
  return issues.length > 0 ? unusableKeys(issues) : new KeySet(keys);
}

interface KeyReading {
  /** Left out: the key's own name, or its thumbprint (RFC 7638). */
  kid?: string;
  /** The issuers the keys may sign for; left out: every trusted issuer. */
  issuers?: readonly string[];
}

const BLOCK = /-----BEGIN ([A-Z0-9 ]+)-----/g;
const PUBLIC_BLOCKS = ["PUBLIC KEY", "RSA PUBLIC KEY"];
const SECRET_MEMBERS = ["d", "p", "q", "dp", "dq", "qi", "oth", "k"];

/** The one public key of a PEM text (SPKI or PKCS #1); E3227 says why it cannot be used. */
export function keysFromPem(pem: string, { kid, issuers }: KeyReading = {}): VerificationKey[] | Failure {
  const key = pemProblem(pem) ?? importKey(() => createPublicKey({ key: pem, format: "pem" }));
  if (typeof key === "string") return unusableKeys([{ path: "", reason: key }]);
  return [{ kid: kid ?? thumbprint(key), publicKey: key, ...(issuers && { issuers }) }];
}

/** The public keys of a JWKS document; E3227 names each key that cannot be used, by its place. */
export function keysFromJwks(document: unknown, { issuers }: KeyReading = {}): VerificationKey[] | Failure {
  const list = isJsonObject(document) ? document.keys : undefined;
  if (!Array.isArray(list)) return unusableKeys([{ path: "/keys", reason: "set has no list named keys" }]);
  const issues: Issue[] = [];
  const keys: VerificationKey[] = [];
  for (const [index, jwk] of list.entries()) {
    const key = keyFromJwk(jwk);
    if (typeof key === "string") issues.push({ path: `/keys/${index}`, reason: key });
    else keys.push({ ...key, ...(issuers && { issuers }) });
  }
  return issues.length > 0 ? unusableKeys(issues) : keys;
}

/** A name that follows from the key alone (RFC 7638). */
export function thumbprint(publicKey: KeyObject): string {
  const { e = "", n = "" } = publicKey.export({ format: "jwk" });
  return hash("sha256", JSON.stringify({ e, kty: "RSA", n }), "base64url");
}

function pemProblem(pem: string): string | undefined {
  const kinds = [...pem.matchAll(BLOCK)].map(([, kind = ""]) => kind);
  if (kinds.some((kind) => kind.endsWith("PRIVATE KEY"))) return PRIVATE;
  if (kinds.length !== 1) return `is in a text with ${kinds.length} PEM blocks; give exactly one`;
  const [kind = ""] = kinds;
  return PUBLIC_BLOCKS.includes(kind) ? undefined : `is given as ${kind}; give it as PUBLIC KEY`;
}

/** The key, or why it cannot be used. */
function keyFromJwk(jwk: unknown): VerificationKey | string {
  if (!isJsonObject(jwk)) return "is not an object";
  const wrong = jwkProblem(jwk);
  if (wrong !== undefined) return wrong;
  const { n, e, kid } = jwk;
  if (typeof n !== "string" || typeof e !== "string") return "has no modulus n or no exponent e";
  const key = importKey(() => createPublicKey({ key: { kty: "RSA", n, e }, format: "jwk" }));
  if (typeof key === "string") return key;
  return { kid: typeof kid === "string" ? kid : thumbprint(key), publicKey: key };
}

function jwkProblem(jwk: JsonObject): string | undefined {
  const { kty, use, alg, key_ops: operations, kid } = jwk;
  if (SECRET_MEMBERS.some((name) => Object.hasOwn(jwk, name))) return PRIVATE;
  if (kty !== "RSA") return "is not an RSA key";
  if (use !== undefined && use !== "sig") return 'is not for signatures (its use is not "sig")';
  if (alg !== undefined && alg !== "RS256") return "is for another algorithm than RS256";
  if (operations !== undefined && !(Array.isArray(operations) && operations.includes("verify")))
    return 'is not for checking signatures (its key_ops lack "verify")';
  return kid === undefined || typeof kid === "string" ? undefined : "has a kid that is not a text";
}

/** The key, or why it cannot be used. OpenSSL's own message is left out: it may quote the key. */
function importKey(read: () => KeyObject): KeyObject | string {
  try {
    const key = read();
    return keyProblem(key) ?? key;
  } catch {
    return "cannot be read as an RSA public key";
  }
}

function keyProblem(key: KeyObject): string | undefined {
  if (key.type === "private") return PRIVATE;
  if (key.type !== "public" || key.asymmetricKeyType !== "rsa") return "is not an RSA public key";
  const { modulusLength = 0, publicExponent = 0n } = key.asymmetricKeyDetails ?? {};
  if (modulusLength < MIN_BITS) return `has ${modulusLength} bits; at least ${MIN_BITS} are needed`;
  return publicExponent < MIN_EXPONENT ? `has the exponent ${publicExponent}, which is too small` : undefined;
}

function kidProblem(kid: string, taken: ReadonlyMap<string, VerificationKey>): string | undefined {
  if (kid.length === 0 || kid.length > MAX_KID)
    return `has a kid that is empty or longer than ${MAX_KID} characters`;
  return taken.has(kid) ? `has the same kid as another key: ${kid}` : undefined;
}

function unusableKeys(issues: Issue[]): Failure {
  const [first] = issues;
  return failure("E3227", {
    message:
      issues.length === 1 && first ? `The key ${first.reason}.` : `${issues.length} keys cannot be used.`,
    issues,
    advice: "Give RSA public keys of at least 2048 bits, each with a kid of its own.",
  });
}
