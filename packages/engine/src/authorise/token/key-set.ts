import type { KeyObject } from "node:crypto";
import { type Failure, failure, type Issue } from "@sallyport/protocol";

/** A public key that signatures are checked with. */
export interface VerificationKey {
  /** Names the key in a token's header. */
  kid: string;
  publicKey: KeyObject;
  /** The issuers it may sign for; left out: any that is trusted at all. */
  issuers?: readonly string[];
}

const MIN_BITS = 2048;
const MIN_EXPONENT = 65_537n;
const MAX_KID = 128;
const MAX_REMEMBERED = 64;

/** The keys in force, several at once so that they can be rotated. It never changes; new keys are a new set. */
export class KeySet {
  readonly #keys: ReadonlyMap<string, VerificationKey>;
  readonly #headers = new Map<string, VerificationKey>();

  constructor(keys: ReadonlyMap<string, VerificationKey>) {
    this.#keys = keys;
  }

  get kids(): string[] {
    return [...this.#keys.keys()];
  }

  /** All of them, to make another set with. */
  get keys(): VerificationKey[] {
    return [...this.#keys.values()];
  }

  /** The key a token names; one that names none means the only key there is, else undefined. */
  find(kid: string | undefined): VerificationKey | undefined {
    if (kid !== undefined) return this.#keys.get(kid);
    const [only] = this.#keys.values();
    return this.#keys.size === 1 ? only : undefined;
  }

  /** The key a header led to before, so that one which verified once is not read again. */
  recall(header: string): VerificationKey | undefined {
    return this.#headers.get(header);
  }

  /** Only for headers of verified tokens: what strangers send must not push others out. */
  remember(header: string, key: VerificationKey): void {
    if (this.#headers.size >= MAX_REMEMBERED) this.#headers.clear();
    this.#headers.set(header, key);
  }
}

/** Puts keys together; E3227 with every key that is too weak, of the wrong kind, or has a name taken already. */
export function keySetOf(entries: Iterable<VerificationKey>): KeySet | Failure {
  const keys = new Map<string, VerificationKey>();
  const issues: Issue[] = [];
  let index = 0;
  for (const entry of entries) {
    const reason = keyProblem(entry.publicKey) ?? kidProblem(entry.kid) ?? taken(entry.kid, keys);
    if (reason !== undefined) issues.push({ path: `/${index}`, reason });
    keys.set(entry.kid, Object.freeze({ ...entry }));
    index += 1;
  }
  return issues.length > 0 ? unusableKeys(issues) : new KeySet(keys);
}

/** Why signatures must not be checked with this key; undefined when they may. */
export function keyProblem(key: KeyObject): string | undefined {
  if (key.type === "private")
    return "is a private key; give the public one, and keep the private one private";
  if (key.type !== "public" || key.asymmetricKeyType !== "rsa") return "is not an RSA public key";
  const { modulusLength = 0, publicExponent = 0n } = key.asymmetricKeyDetails ?? {};
  if (modulusLength < MIN_BITS) return `has ${modulusLength} bits; at least ${MIN_BITS} are needed`;
  return publicExponent < MIN_EXPONENT ? `has the exponent ${publicExponent}, which is too small` : undefined;
}

function kidProblem(kid: string): string | undefined {
  return kid.length > 0 && kid.length <= MAX_KID
    ? undefined
    : `has a kid that is empty or longer than ${MAX_KID} characters`;
}

function taken(kid: string, keys: ReadonlyMap<string, VerificationKey>): string | undefined {
  return keys.has(kid) ? `has the same kid as another key: ${kid}` : undefined;
}

/** E3227 with the places that are wrong. */
export function unusableKeys(issues: Issue[]): Failure {
  const [first] = issues;
  const message =
    issues.length === 1 && first ? `The key ${first.reason}.` : `${issues.length} keys cannot be used.`;
  return failure("E3227", {
    message,
    issues,
    advice: "Give RSA public keys of at least 2048 bits, each with a kid of its own.",
  });
}
