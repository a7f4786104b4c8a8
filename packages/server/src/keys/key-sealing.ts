import { createCipheriv, createDecipheriv, randomBytes } from "node:crypto";
import type { Failure } from "@sallyport/protocol";
import { keyTrouble } from "./key-files.ts";

const [IV_BYTES, TAG_BYTES, KEY_BYTES] = [12, 16, 32] as const;
/** Bound into every sealed text: one that is sealed for something else does not open here. */
const PURPOSE = Buffer.from("sallyport keys 1");
const ADVICE = "It has to hold 32 random bytes in base64 or hex. Make them with: openssl rand -base64 32";

/** Encrypts texts for the store with AES-256-GCM. */
export interface Sealing {
  seal(text: string): string;
  /** E3227 when the text was sealed with another key, or changed since. */
  open(sealed: string): string | Failure;
}

/**
 * Seals with the first of the keys in a text, parted by spaces or lines, and opens with any of them, so that a key can be
 * changed. E3227 names `source` and quotes nothing.
 */
export function sealingWith(text: string, source: string): Sealing | Failure {
  const keys = text
    .split(/\s+/)
    .filter((word) => word !== "")
    .map(keyBytes);
  const [first] = keys;
  if (!first || keys.includes(undefined))
    return keyTrouble(`${source}, which store.keyEncryption names, holds no key.`, ADVICE);
  return {
    seal: (plain) => seal(plain, first),
    open: (sealed) => {
      for (const key of keys) {
        const opened = key && unseal(sealed, key);
        if (opened !== undefined) return opened;
      }
      return keyTrouble(
        "The keys in the store are encrypted with another key than store.keyEncryption leads to.",
        `Give this process the key that the others have, in ${source.replace(/^The /, "the ")}.`,
      );
    },
  };
}

function keyBytes(word: string): Buffer | undefined {
  const encoding = /^[0-9a-f]{64}$/i.test(word) ? "hex" : "base64";
  const bytes = Buffer.from(word, encoding);
  return bytes.length === KEY_BYTES ? bytes : undefined;
}

function seal(plain: string, key: Buffer): string {
  const iv = randomBytes(IV_BYTES);
  const cipher = createCipheriv("aes-256-gcm", key, iv, { authTagLength: TAG_BYTES }).setAAD(PURPOSE);
  const body = Buffer.concat([cipher.update(plain, "utf8"), cipher.final()]);
  return Buffer.concat([iv, cipher.getAuthTag(), body]).toString("base64");
}

function unseal(sealed: string, key: Buffer): string | undefined {
  try {
    const bytes = Buffer.from(sealed, "base64");
    const iv = bytes.subarray(0, IV_BYTES);
    const decipher = createDecipheriv("aes-256-gcm", key, iv, { authTagLength: TAG_BYTES }).setAAD(PURPOSE);
    decipher.setAuthTag(bytes.subarray(IV_BYTES, IV_BYTES + TAG_BYTES));
    const body = bytes.subarray(IV_BYTES + TAG_BYTES);
    return Buffer.concat([decipher.update(body), decipher.final()]).toString("utf8");
  } catch {
    return undefined;
  }
}
