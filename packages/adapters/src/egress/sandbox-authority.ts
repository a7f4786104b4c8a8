import { generateKeyPair, type KeyObject } from "node:crypto";
import { promisify } from "node:util";
import type { Clock } from "@sallyport/engine/ports";
import { type CertifiedName, type Issuer, makeCertificate } from "./certificate.ts";
import type { Destination } from "./destination.ts";
import type { ReadRule } from "./rules.ts";

const DAY_MS = 24 * 3_600_000;
/** Clocks inside and outside may differ a little. */
const SLACK_MS = 5 * 60_000;
const LEAF_NAME = "Sallyport egress";

const newKeys = promisify(generateKeyPair);

/** A certificate authority for one sandbox: in memory only, for one day, for the intercepted hosts only. */
export class SandboxAuthority {
  /** PEM. */
  readonly certificate: string;
  readonly #issuer: Issuer;
  readonly #leafKeys: { publicKey: KeyObject; privateKey: KeyObject };
  readonly #span: { notBefore: Date; notAfter: Date };

  private constructor(
    issuer: Issuer,
    leafKeys: { publicKey: KeyObject; privateKey: KeyObject },
    draft: Draft,
  ) {
    this.#issuer = issuer;
    this.#leafKeys = leafKeys;
    this.#span = { notBefore: draft.notBefore, notAfter: draft.notAfter };
    this.certificate = makeCertificate({ ...draft, ...issuer }, issuer);
  }

  /** For the hosts of those rules that ask for interception; undefined when none does. */
  static async forRules(rules: readonly ReadRule[], clock: Clock): Promise<SandboxAuthority | undefined> {
    const mayCertify = rules.filter(({ rule }) => rule.credential?.intercept === true).map(namesOf);
    if (mayCertify.length === 0) return undefined;
    const [authority, leaf] = await Promise.all([ecKeys(), ecKeys()]);
    const notBefore = new Date(clock.now() - SLACK_MS);
    const notAfter = new Date(clock.now() + DAY_MS);
    const issuer = { commonName: "Sallyport sandbox authority", ...authority };
    return new SandboxAuthority(issuer, leaf, { notBefore, notAfter, mayCertify });
  }

  /** A server's key and certificate in that host's name. */
  issue({ name, address }: Destination): { key: string; cert: string } {
    const names: CertifiedName[] = [address === undefined ? { dns: name } : { ip: address }];
    const { publicKey, privateKey } = this.#leafKeys;
    const cert = makeCertificate({ commonName: LEAF_NAME, publicKey, names, ...this.#span }, this.#issuer);
    return { key: String(privateKey.export({ type: "pkcs8", format: "pem" })), cert };
  }
}

interface Draft {
  notBefore: Date;
  notAfter: Date;
  mayCertify: CertifiedName[];
}

function ecKeys(): Promise<{ publicKey: KeyObject; privateKey: KeyObject }> {
  return newKeys("ec", { namedCurve: "P-256" });
}

function namesOf({ hosts }: ReadRule): CertifiedName {
  const bare = hosts.name.replace(/^\[|\]$/g, "");
  return hosts.name.startsWith("[") || /^[\d.]+$/.test(bare) ? { ip: bare } : { dns: hosts.name };
}
