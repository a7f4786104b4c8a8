import { readFileSync } from "node:fs";
import { basename, extname } from "node:path";
import { type KeySet, keySetOf, keysFromJwks, keysFromPem, type VerificationKey } from "@sallyport/engine";
import { APPROVAL_ISSUER } from "@sallyport/engine/host";
import { type Failure, isFailure, parseUnambiguousJson } from "@sallyport/protocol";
import { keyTrouble, reasonOf } from "./key-files.ts";
import { HOUSE_ISSUER } from "./signing-keys.ts";

/** Where the public keys of outside issuers are, as the configuration says; paths are absolute. */
export interface OutsideKeys {
  /** A JWKS document. */
  jwks?: string;
  /** PEM files, one key each; a key's kid is its file's name without the ending. */
  publicKeys?: readonly string[];
  /** Whom tokens are accepted from. */
  issuers: readonly string[];
}

/**
 * The keys capability tokens are checked with: the server's own, if it has any, and those of outside issuers. An outside
 * key never speaks for the server, whatever issuers are configured. E3227 names the file that cannot be used.
 */
export function tokenKeys(
  { jwks, publicKeys = [], issuers }: OutsideKeys,
  runtime?: KeySet,
): KeySet | Failure {
  const outsiders = issuers.filter((issuer) => issuer !== HOUSE_ISSUER && issuer !== APPROVAL_ISSUER);
  const keys: VerificationKey[] = [...(runtime?.keys ?? [])];
  for (const read of [
    ...(jwks === undefined ? [] : [() => fromJwks(jwks, outsiders)]),
    ...publicKeys.map((file) => () => fromPem(file, outsiders)),
  ]) {
    const found = read();
    if (isFailure(found)) return found;
    keys.push(...found);
  }
  return keySetOf(keys);
}

function fromPem(file: string, issuers: string[]): VerificationKey[] | Failure {
  const text = readText(file);
  if (typeof text !== "string") return text;
  return named(file, keysFromPem(text, { kid: basename(file, extname(file)), issuers }));
}

function fromJwks(file: string, issuers: string[]): VerificationKey[] | Failure {
  const text = readText(file);
  if (typeof text !== "string") return text;
  const document = parseUnambiguousJson(text);
  return document === undefined
    ? keyTrouble(
        `${file} is not JSON, or names a member twice.`,
        "Save the issuer's JWKS document there as it is.",
      )
    : named(file, keysFromJwks(document, { issuers }));
}

function named<Keys extends object>(file: string, keys: Keys | Failure): Keys | Failure {
  return isFailure(keys) ? { ...keys, message: `${file}: ${keys.message}` } : keys;
}

function readText(file: string): string | Failure {
  try {
    return readFileSync(file, "utf8");
  } catch (error) {
    return keyTrouble(
      `${file} cannot be read: ${reasonOf(error)}`,
      "Put the issuer's public key there, or correct the path in the configuration.",
    );
  }
}
