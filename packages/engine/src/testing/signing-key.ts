import { generateKeyPairSync, type KeyObject } from "node:crypto";

/** A fresh RSA key to sign tokens with. */
export function signingKey(kid: string): { kid: string; privateKey: KeyObject; publicKey: KeyObject } {
  return { kid, ...generateKeyPairSync("rsa", { modulusLength: 2048 }) };
}
