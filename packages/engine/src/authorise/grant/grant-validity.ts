import { createHmac, hash, timingSafeEqual } from "node:crypto";
import { canonicalJson, failure, type JsonValue, SallyportError } from "@sallyport/protocol";
import type { CapabilityGrant, GrantRecord, StandingGrant } from "../../ports/grants.ts";

/** Signs a text and verifies its own signatures. Neither method throws. */
export interface GrantSigner {
  sign(text: string): string;
  /** False for any text or signature that is not its own. */
  verify(text: string, signature: string): boolean;
}

/** What changes after a grant was given; everything else is signed. */
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
/** Keeps a signature of a grant from being one of anything else that is signed with the same key. */
const PURPOSE = "sallyport grant v1\n";

/** How often a capability may be passed on. */
export const MAX_DELEGATION_DEPTH = 3;

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
  return {
    sign,
    verify: (text, signature) => {
      const wanted = Buffer.from(sign(text));
      const found = Buffer.from(signature);
      return wanted.length === found.length && timingSafeEqual(wanted, found);
    },
  };
}

/** The grant with its signature, over every field that will not change. Throws when the grant is not JSON. */
export function signGrant(grant: Omit<CapabilityGrant, "signature">, signer: GrantSigner): CapabilityGrant;
export function signGrant(grant: Omit<StandingGrant, "signature">, signer: GrantSigner): StandingGrant;
export function signGrant(
  grant: Omit<CapabilityGrant, "signature"> | Omit<StandingGrant, "signature">,
  signer: GrantSigner,
): GrantRecord {
  return { ...grant, signature: signer.sign(signedText(grant)) };
}

/** Whether the grant is as it was signed. A record that is not even JSON is not. */
export function isGenuine(record: GrantRecord, signer: GrantSigner): boolean {
  try {
    return typeof record.signature === "string" && signer.verify(signedText(record), record.signature);
  } catch {
    return false;
  }
}

/** Unknown fields are signed too, so that none can be slipped in. */
function signedText(record: object): string {
  const signed = Object.entries(record).filter(([field]) => !UNSIGNED.has(field));
  return canonicalJson(Object.fromEntries(signed) as Record<string, JsonValue>);
}

/** Where grants are looked up, and how they are known to be genuine. */
export interface GrantSource {
  find(grantId: string): CapabilityGrant | undefined;
  isGenuine(grant: CapabilityGrant): boolean;
}

/** The grant, the one it was delegated from, and so on; undefined when that line is broken. */
export function lineageOf(grant: CapabilityGrant, find: GrantSource["find"]): CapabilityGrant[] | undefined {
  const line = [grant];
  for (let child = grant; child.parentGrantId !== undefined; ) {
    const parent = find(child.parentGrantId);
    if (!parent || !isHeir(child, parent) || line.length > MAX_DELEGATION_DEPTH) return undefined;
    line.push(parent);
    child = parent;
  }
  return line.at(-1)?.delegationDepth === 0 ? line : undefined;
}

function isHeir(child: CapabilityGrant, parent: CapabilityGrant): boolean {
  const endsBefore =
    parent.expiresAt === undefined || (child.expiresAt !== undefined && child.expiresAt < parent.expiresAt);
  return (
    parent.delegatable &&
    child.capabilityId === parent.capabilityId &&
    child.tenant === parent.tenant &&
    child.delegationDepth === parent.delegationDepth + 1 &&
    endsBefore
  );
}

/** Why a grant counts for nothing at a moment; undefined when it counts. Each grant it was delegated from has to count too. */
export function invalidity(grant: CapabilityGrant, source: GrantSource, at: number): string | undefined {
  const line = lineageOf(grant, source.find);
  if (!line) return `${grant.grantId} has no unbroken line to a grant that was issued`;
  for (const ancestor of line) {
    const { grantId, revokedAt, expiresAt } = ancestor;
    if (!source.isGenuine(ancestor)) return `${grantId} is not as it was signed`;
    if (revokedAt !== undefined) return `${grantId} was revoked`;
    if (expiresAt !== undefined && expiresAt <= at) return `${grantId} has expired`;
  }
  return undefined;
}
