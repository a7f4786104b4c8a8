import { createHmac, hash, timingSafeEqual } from "node:crypto";
import { canonicalJson, failure, type JsonValue, SallyportError } from "@sallyport/protocol";
import type { CapabilityGrant, GrantRecord, StandingGrant } from "../../ports/grants.ts";

/** Puts the house's seal on a text and knows it again. Neither method throws. */
export interface GrantSigner {
  sign(text: string): string;
  /** False for any text or signature that is not its own. */
  verify(text: string, signature: string): boolean;
}

/** What changes after a grant was given; all the rest is sealed. */
const UNSIGNED = new Set([
  "signature",
  "revokedAt",
  "revokedBy",
  "revokedBecause",
  "uses",
  "lastUsedAt",
  "revision",
]);

const MIN_KEY_BYTES = 32;
const KEY_ID_CHARS = 8;
/** Keeps a seal on a grant from being one on anything else that is signed with the same key. */
const PURPOSE = "sallyport grant v1\n";

/**
 * Signs with HMAC-SHA256. The signature names its key by a short fingerprint, so that one made with another key can be
 * told from a forged one. Throws E3227 for a key under 32 bytes: there is no default key.
 */
export function hmacSigner(key: Buffer): GrantSigner {
  if (key.length < MIN_KEY_BYTES) {
    const message = `The key for grants has ${key.length} bytes; it needs at least ${MIN_KEY_BYTES}.`;
    throw new SallyportError(failure("E3227", { message }));
  }
  const secret = Buffer.from(key);
  const fingerprint = Buffer.concat([Buffer.from(`id of the key of ${PURPOSE}`), secret]);
  const keyId = hash("sha256", fingerprint).slice(0, KEY_ID_CHARS);
  const sign = (text: string) =>
    `hmac-sha256:${keyId}:${createHmac("sha256", secret).update(PURPOSE).update(text).digest("hex")}`;
  return { sign, verify: (text, signature) => isSame(sign(text), signature) };
}

/** The grant with its seal, over every field that will not change. Throws when the grant is not JSON. */
export function signGrant(grant: Omit<CapabilityGrant, "signature">, signer: GrantSigner): CapabilityGrant;
export function signGrant(grant: Omit<StandingGrant, "signature">, signer: GrantSigner): StandingGrant;
export function signGrant(
  grant: Omit<CapabilityGrant, "signature"> | Omit<StandingGrant, "signature">,
  signer: GrantSigner,
): GrantRecord {
  return { ...grant, signature: signer.sign(sealedText(grant)) };
}

/** Whether the grant is as the house gave it. A record that is not even JSON is not. */
export function isGenuine(record: GrantRecord, signer: GrantSigner): boolean {
  try {
    return typeof record.signature === "string" && signer.verify(sealedText(record), record.signature);
  } catch {
    return false;
  }
}

/** The one text of everything that is sealed: unknown fields too, so that none can be slipped in. */
function sealedText(record: object): string {
  const sealed = Object.entries(record).filter(([field]) => !UNSIGNED.has(field));
  return canonicalJson(Object.fromEntries(sealed) as Record<string, JsonValue>);
}

function isSame(expected: string, given: string): boolean {
  const wanted = Buffer.from(expected);
  const found = Buffer.from(given);
  return wanted.length === found.length && timingSafeEqual(wanted, found);
}
