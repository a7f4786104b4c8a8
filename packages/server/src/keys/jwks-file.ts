import { existsSync } from "node:fs";
import { join } from "node:path";
import { type Failure, isJsonObject, type JsonObject, parseJson } from "@sallyport/protocol";
import { KEY_FILES, keyTrouble, readKeyFile, writeKeyFile } from "./key-files.ts";

/** A public key that is still accepted, as the folder lists it. */
export interface ListedKey {
  kid: string;
  createdAt: number;
  /** As it stands in the file; also what others are given to check the server's tokens. */
  jwk: JsonObject;
}

/** The public keys of a folder, oldest first; E3227 when the list cannot be read. */
export function readPublicKeys(folder: string): ListedKey[] | Failure {
  const content = readKeyFile(folder, KEY_FILES.jwks, "public");
  if (!Buffer.isBuffer(content)) return content;
  const entries = parseList(content.toString("utf8"));
  if (!entries) return keyTrouble(`${folder}/${KEY_FILES.jwks} is not a list of public keys (JWKS).`);
  return entries.toSorted((a, b) => a.createdAt - b.createdAt);
}

function parseList(text: string): ListedKey[] | undefined {
  const document = parseJson(text);
  const keys = isJsonObject(document) ? document.keys : undefined;
  if (!Array.isArray(keys)) return undefined;
  const listed = keys.map(listedKey);
  return listed.every((key) => key !== undefined) ? listed : undefined;
}

function listedKey(jwk: unknown): ListedKey | undefined {
  if (!isJsonObject(jwk) || typeof jwk.kid !== "string") return undefined;
  const createdAt = typeof jwk.created === "string" ? Date.parse(jwk.created) : Number.NaN;
  return { kid: jwk.kid, createdAt: Number.isNaN(createdAt) ? 0 : createdAt, jwk };
}

/** Replaces the list in one step. */
export function writePublicKeys(folder: string, keys: readonly ListedKey[]): void {
  const document = { keys: keys.map(({ jwk }) => jwk) };
  writeKeyFile(folder, KEY_FILES.jwks, `${JSON.stringify(document, null, 2)}\n`);
}

/** The keys a folder lists; none when there is no list yet, E3227 when there is one that cannot be read. */
export function publicKeysSoFar(folder: string): ListedKey[] | Failure {
  return existsSync(join(folder, KEY_FILES.jwks)) ? readPublicKeys(folder) : [];
}
