/** The few pieces of DER (X.690) that a certificate is made of. */

/** A value with its tag and length. */
export function der(tag: number, ...parts: readonly Uint8Array[]): Buffer {
  const content = Buffer.concat(parts);
  return Buffer.concat([Buffer.from([tag, ...lengthOf(content.length)]), content]);
}

export function sequence(...parts: readonly Uint8Array[]): Buffer {
  return der(0x30, ...parts);
}

/** `[at]`, explicit or constructed. */
export function context(at: number, ...parts: readonly Uint8Array[]): Buffer {
  return der(0xa0 + at, ...parts);
}

/** A number that is not negative, as big-endian bytes. */
export function integer(bytes: Uint8Array): Buffer {
  const first = bytes.findIndex((byte) => byte !== 0);
  const short = bytes.subarray(first === -1 ? bytes.length - 1 : first);
  return der(0x02, ...((short[0] ?? 0) > 127 ? [Buffer.of(0), short] : [short]));
}

/** `1.2.840…` */
export function objectId(text: string): Buffer {
  const [first = 0, second = 0, ...rest] = text.split(".").map(Number);
  return der(0x06, Buffer.from([first * 40 + second, ...rest.flatMap(base128)]));
}

export function octets(...parts: readonly Uint8Array[]): Buffer {
  return der(0x04, ...parts);
}

export function bits(content: Uint8Array, unused = 0): Buffer {
  return der(0x03, Buffer.of(unused), content);
}

export function utf8(text: string): Buffer {
  return der(0x0c, Buffer.from(text));
}

export const TRUE = der(0x01, Buffer.of(0xff));

/** UTCTime until 2049, GeneralizedTime after, as RFC 5280 wants it. */
export function time(at: Date): Buffer {
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
