import { createHash, type KeyObject, randomBytes, sign } from "node:crypto";
import { bits, context, der, integer, objectId, octets, sequence, TRUE, time, utf8 } from "./der.ts";
import { readHextets } from "./hextets.ts";

/** A name a certificate speaks for, or is held to. */
export type CertifiedName = { dns: string } | { ip: string };

/** What a certificate says. */
export interface CertificateDraft {
  commonName: string;
  publicKey: KeyObject;
  notBefore: Date;
  notAfter: Date;
  /** Of an authority: it may sign for these, and what is below them, and for nothing else. */
  mayCertify?: readonly CertifiedName[];
  /** Of a server: who it is. */
  names?: readonly CertifiedName[];
}

/** Who signs. */
export interface Issuer {
  commonName: string;
  publicKey: KeyObject;
  privateKey: KeyObject;
}

const ECDSA_WITH_SHA256 = sequence(objectId("1.2.840.10045.4.3.2"));
const COMMON_NAME = objectId("2.5.4.3");
const SERVER_AUTH = sequence(objectId("1.3.6.1.5.5.7.3.1"));
const VERSION_3 = context(0, integer(Buffer.of(2)));
const SIGNS_CERTIFICATES = bits(Buffer.of(0b0000_0100), 2);
const SIGNS_HANDSHAKES = bits(Buffer.of(0b1000_0000), 7);

/** An X.509 certificate as PEM, signed by ECDSA with SHA-256. */
export function makeCertificate(draft: CertificateDraft, issuer: Issuer): string {
  const content = sequence(
    VERSION_3,
    integer(randomBytes(16)),
    ECDSA_WITH_SHA256,
    nameOf(issuer.commonName),
    sequence(time(draft.notBefore), time(draft.notAfter)),
    nameOf(draft.commonName),
    spki(draft.publicKey),
    context(3, sequence(...extensionsOf(draft, issuer))),
  );
  const signature = bits(sign("sha256", content, issuer.privateKey));
  const whole = sequence(content, ECDSA_WITH_SHA256, signature).toString("base64");
  const lines = whole.match(/.{1,64}/g) ?? [];
  return `-----BEGIN CERTIFICATE-----\n${lines.join("\n")}\n-----END CERTIFICATE-----\n`;
}

function extensionsOf({ publicKey, mayCertify, names }: CertificateDraft, issuer: Issuer): Buffer[] {
  const keyIds = [
    extension("2.5.29.14", octets(keyId(publicKey))),
    extension("2.5.29.35", sequence(der(0x80, keyId(issuer.publicKey)))),
    extension("2.5.29.37", SERVER_AUTH),
  ];
  if (!mayCertify)
    return [
      ...keyIds,
      critical("2.5.29.19", sequence()),
      critical("2.5.29.15", SIGNS_HANDSHAKES),
      extension("2.5.29.17", sequence(...(names ?? []).map(alternativeName))),
    ];
  return [
    ...keyIds,
    critical("2.5.29.19", sequence(TRUE, integer(Buffer.of(0)))),
    critical("2.5.29.15", SIGNS_CERTIFICATES),
    critical("2.5.29.30", constraintsTo(mayCertify)),
  ];
}

/** A kind of name that is not permitted at all must be excluded, or it would be free. */
function constraintsTo(names: readonly CertifiedName[]): Buffer {
  const excluded = [
    ...(names.some((name) => "dns" in name) ? [] : [der(0x82)]),
    ...(names.some((name) => "ip" in name) ? [] : [der(0x87, Buffer.alloc(8)), der(0x87, Buffer.alloc(32))]),
  ];
  const permitted = names.map((name) =>
    "dns" in name ? alternativeName(name) : der(0x87, addressBytes(name.ip), allOnes(name.ip)),
  );
  const subtrees = (bases: Buffer[]) => bases.map((base) => sequence(base));
  return sequence(
    context(0, ...subtrees(permitted)),
    ...(excluded.length > 0 ? [context(1, ...subtrees(excluded))] : []),
  );
}

function alternativeName(name: CertifiedName): Buffer {
  return "dns" in name ? der(0x82, Buffer.from(name.dns)) : der(0x87, addressBytes(name.ip));
}

function addressBytes(ip: string): Buffer {
  const hextets = readHextets(ip);
  if (!hextets) return Buffer.from(ip.split(".").map(Number));
  return Buffer.from(hextets.flatMap((part) => [part >> 8, part & 0xff]));
}

function allOnes(ip: string): Buffer {
  return Buffer.alloc(addressBytes(ip).length, 0xff);
}

function nameOf(commonName: string): Buffer {
  return sequence(der(0x31, sequence(COMMON_NAME, utf8(commonName))));
}

function extension(id: string, value: Uint8Array): Buffer {
  return sequence(objectId(id), octets(value));
}

function critical(id: string, value: Uint8Array): Buffer {
  return sequence(objectId(id), TRUE, octets(value));
}

function spki(key: KeyObject): Buffer {
  return key.export({ type: "spki", format: "der" });
}

function keyId(key: KeyObject): Buffer {
  return createHash("sha256").update(spki(key)).digest().subarray(0, 20);
}
