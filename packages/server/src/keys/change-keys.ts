import { generateKeyPair, type KeyObject } from "node:crypto";
import { existsSync, readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { thumbprint } from "@sallyport/engine/host";
import { type Failure, isFailure } from "@sallyport/protocol";
import { refusedFile } from "../runtime/own-folder.ts";
import { ensureGrantsKey } from "./grants-key.ts";
import { type ListedKey, publicKeysSoFar, writePublicKeys } from "./jwks-file.ts";
import {
  folderTrouble,
  KEY_FILES,
  keyTrouble,
  makeKeyFolder,
  reasonOf,
  signingFile,
  UNFINISHED,
  writeKeyFile,
} from "./key-files.ts";
import { withKeyLock } from "./key-lock.ts";
import { currentKid } from "./signing-keys.ts";

/** What signs from now on, and what became of the keys before. */
export interface KeyChange {
  kid: string;
  previous?: string;
  /** Still checked with, besides the new one. */
  kept: string[];
  /** Their tokens are refused from now on. */
  dropped: string[];
}

const BITS = 2048;
const KID_CHARS = 16;
const DEFAULT_KEEP = 2;
const generate = promisify(generateKeyPair);

/** Makes the first keys of a folder; E3227 when there are keys already, which stay as they are. */
export async function initKeys(folder: string): Promise<KeyChange | Failure> {
  return await changing(folder, async () => {
    if (existsSync(join(folder, KEY_FILES.current)))
      return keyTrouble(
        `There are keys in ${folder} already.`,
        "Change the key that signs with `sallyport keys rotate`; nothing was overwritten.",
      );
    return await signWithNewKey(folder, { keep: Number.POSITIVE_INFINITY });
  });
}

/**
 * Makes a new key that signs from now on. The newest `keep` of the earlier ones go on being accepted, so that tokens
 * already given out stay good. A crash at any moment leaves a folder that works, with the old key or with the new one.
 */
export async function rotateKeys(
  folder: string,
  { keep = DEFAULT_KEEP }: { keep?: number } = {},
): Promise<KeyChange | Failure> {
  return await changing(folder, async () => {
    const previous = currentKid(folder);
    if (typeof previous !== "string") return previous;
    return await signWithNewKey(folder, { keep, previous });
  });
}

async function changing(
  folder: string,
  change: () => Promise<KeyChange | Failure>,
): Promise<KeyChange | Failure> {
  try {
    makeKeyFolder(folder);
    const trouble = folderTrouble(folder);
    if (trouble) return trouble;
    const grants = ensureGrantsKey(folder);
    return Buffer.isBuffer(grants) ? await withKeyLock(folder, change) : grants;
  } catch (error) {
    const refused = refusedFile(error);
    if (refused) return refused;
    return keyTrouble(
      `The keys in ${folder} could not be changed: ${reasonOf(error)}`,
      "Look at the cause, then try again.",
    );
  }
}

/** Adds the new key, lets it sign, and only then takes old ones away: each step leaves the folder whole. */
async function signWithNewKey(
  folder: string,
  { keep, previous }: { keep: number; previous?: string },
): Promise<KeyChange | Failure> {
  const before = publicKeysSoFar(folder);
  if (isFailure(before)) return before;
  const { publicKey, privateKey } = await generate("rsa", { modulusLength: BITS });
  const made = listed(publicKey);
  writeKeyFile(folder, signingFile(made.kid), privateKey.export({ type: "pkcs8", format: "pem" }));
  writePublicKeys(folder, [...before, made]);
  writeKeyFile(folder, KEY_FILES.current, `${made.kid}\n`);
  const gone = before.slice(0, Math.max(0, before.length - keep));
  const kept = before.slice(gone.length);
  if (gone.length > 0) writePublicKeys(folder, [...kept, made]);
  sweep(folder, made.kid);
  const kidsOf = (keys: ListedKey[]) => keys.map(({ kid }) => kid);
  return {
    kid: made.kid,
    ...(previous !== undefined && { previous }),
    kept: kidsOf(kept),
    dropped: kidsOf(gone),
  };
}

function listed(publicKey: KeyObject): ListedKey {
  const { n = "", e = "" } = publicKey.export({ format: "jwk" });
  const kid = thumbprint(publicKey).slice(0, KID_CHARS);
  const createdAt = Date.now();
  const created = new Date(createdAt).toISOString();
  return { kid, createdAt, jwk: { kty: "RSA", kid, use: "sig", alg: "RS256", created, n, e } };
}

/** Secrets that sign nothing any more, and what a crash left half written. */
function sweep(folder: string, kid: string): void {
  for (const name of readdirSync(folder)) {
    const retired = name.startsWith("signing-") && name !== signingFile(kid);
    if (retired || name.endsWith(UNFINISHED)) rmSync(join(folder, name));
  }
}
