import { createPrivateKey, createPublicKey, type KeyObject } from "node:crypto";
import { type KeySet, keySetOf, keysFromJwks, type SigningKey } from "@sallyport/engine";
import { APPROVAL_ISSUER } from "@sallyport/engine/host";
import { type Failure, isFailure } from "@sallyport/protocol";
import { readGrantsKey } from "./grants-key.ts";
import { readPublicKeys } from "./jwks-file.ts";
import { folderTrouble, KEY_FILES, keyTrouble, readKeyFile, signingFile } from "./key-files.ts";

/** The name this server signs capability tokens in. */
export const HOUSE_ISSUER = "sallyport";

/** The keys of one Sallyport. */
export interface SigningKeys {
  /** Signs new tokens. */
  current: SigningKey;
  /** Checks the server's own tokens, those of earlier keys included, and nobody else's. */
  public: KeySet;
  /** Signs grants. */
  grantsKey: Buffer;
}

const KID = /^[\w-]{1,64}$/;

/** Reads a key folder; E3227 with what to do when a file is missing, damaged or open to others. */
export function loadKeys(folder: string): SigningKeys | Failure {
  const current = loadSigningKey(folder);
  if (isFailure(current)) return current;
  const keys = publicSet(folder, current);
  if (isFailure(keys)) return keys;
  const grantsKey = readGrantsKey(folder);
  return isFailure(grantsKey) ? grantsKey : { current, public: keys, grantsKey };
}

/** The kid that signs now. */
export function currentKid(folder: string): string | Failure {
  const trouble = folderTrouble(folder);
  if (trouble) return trouble;
  const content = readKeyFile(folder, KEY_FILES.current, "public");
  if (!Buffer.isBuffer(content)) return content;
  const kid = content.toString("utf8").trim();
  return KID.test(kid) ? kid : keyTrouble(`${folder}/${KEY_FILES.current} does not name a key.`);
}

function loadSigningKey(folder: string): SigningKey | Failure {
  const kid = currentKid(folder);
  if (typeof kid !== "string") return kid;
  const pem = readKeyFile(folder, signingFile(kid), "secret");
  if (!Buffer.isBuffer(pem)) return pem;
  const privateKey = importPrivate(pem);
  return privateKey
    ? { kid, privateKey }
    : keyTrouble(`${folder}/${signingFile(kid)} is not an RSA private key in PEM.`);
}

function importPrivate(pem: Buffer): KeyObject | undefined {
  try {
    const key = createPrivateKey(pem);
    return key.asymmetricKeyType === "rsa" ? key : undefined;
  } catch {
    // What OpenSSL says about it helps nobody and may quote it.
    return undefined;
  }
}

/** What the folder publishes. The key that signs counts even if a crash left it out, because its secret is here. */
function publicSet(folder: string, { kid, privateKey }: SigningKey): KeySet | Failure {
  const listed = readPublicKeys(folder);
  if (isFailure(listed)) return listed;
  const issuers = [HOUSE_ISSUER, APPROVAL_ISSUER];
  const keys = keysFromJwks({ keys: listed.map(({ jwk }) => jwk) }, { issuers });
  if (isFailure(keys)) return keys;
  const publicKey = createPublicKey(privateKey);
  const published = keys.find((key) => key.kid === kid);
  if (published && !published.publicKey.equals(publicKey))
    return keyTrouble(
      `${folder}/${KEY_FILES.jwks} has another key under the name ${kid} than the one that signs.`,
      "Restore the folder from a copy, or move it away and make new keys with `sallyport keys init`.",
    );
  return keySetOf(published ? keys : [...keys, { kid, publicKey, issuers }]);
}
