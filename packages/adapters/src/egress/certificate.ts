import { createHash, type KeyObject, randomBytes, sign } from "node:crypto";
import { readHextets } from "./hextets.ts";

/** The few pieces of DER (X.690) that a certificate is made of. */

/** A value with its tag and length. */
function der(tag: number, ...parts: readonly Uint8Array[]): Buffer {
  const content = Buffer.concat(parts);
  return Buffer.concat([Buffer.from([tag, ...lengthOf(content.length)]), content]);
}

function sequence(...parts: readonly Uint8Array[]): Buffer {
  return der(0x30, ...parts);
}

/** `[at]`, explicit or constructed. */
function context(at: number, ...parts: readonly Uint8Array[]): Buffer {
  return der(0xa0 + at, ...parts);
}

/** A number that is not negative, as big-endian bytes. */
function integer(bytes: Uint8Array): Buffer {
  const first = bytes.findIndex((byte) => byte !== 0);
  const short = bytes.subarray(first === -1 ? bytes.length - 1 : first);
  return der(0x02, ...((short[0] ?? 0) > 127 ? [Buffer.of(0), short] : [short]));
}

/** `1.2.840…` */
function objectId(text: string): Buffer {
  const [first = 0, second = 0, ...rest] = text.split(".").map(Number);
  return der(0x06, Buffer.from([first * 40 + second, ...rest.flatMap(base128)]));
}

function octets(...parts: readonly Uint8Array[]): Buffer {
  return der(0x04, ...parts);
}

function bits(content: Uint8Array, unused = 0): Buffer {
  return der(0x03, Buffer.of(unused), content);
}

function utf8(text: string): Buffer {
  return der(0x0c, Buffer.from(text));
}

const TRUE = der(0x01, Buffer.of(0xff));

/** UTCTime until 2049, GeneralizedTime after, as RFC 5280 wants it. */
function time(at: Date): Buffer {
  const digits = at.toISOString().replace(/[-:T]|\..*/g, "");
  return at.getUTCFullYear() < 2050
    ? der(0x17, Buffer.from(`${digits.slice(2)}Z`))
    : der(0x18, Buffer.from(`${digits}Z`));
}

function lengthOf(length: number): number[] {
  if (length < 128) return [length];
  const bytes = length < 256 ? [length] : [length >> 8, length & 0xff];
  return [0x80 + bytes.length, ...bytes];
}

function base128(part: number): number[] {
  const low = part & 0x7f;
  return part < 128 ? [low] : [...base128(Math.floor(part / 128)).map((byte) => byte | 0x80), low];
}

/** A name a certificate speaks for, or is held to. */
export type CertifiedName = { dns: string } | { ip: string };

/** What a certificate says. */
interface CertificateDraft {
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
