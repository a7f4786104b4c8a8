import { isIPv6 } from "node:net";

/** The eight numbers of an IPv6 address without a zone; undefined when the text is none. */
export function readHextets(address: string): number[] | undefined {
  if (!isIPv6(address) || address.includes("%")) return undefined;
  const [head = "", tail] = withoutDots(address).split("::");
  const before = hextetsOf(head);
  if (tail === undefined) return before;
  const after = hextetsOf(tail);
  return [...before, ...Array<number>(8 - before.length - after.length).fill(0), ...after];
}

/** The text of eight numbers, in the long form that every reader takes. */
export function writeHextets(bytes: Uint8Array): string {
  const view = new DataView(bytes.buffer, bytes.byteOffset, 16);
  return Array.from({ length: 8 }, (_, at) => view.getUint16(at * 2).toString(16)).join(":");
}

function hextetsOf(text: string): number[] {
  return text === "" ? [] : text.split(":").map((part) => Number.parseInt(part, 16));
}

/** `::ffff:1.2.3.4` with its last part in hextets. */
function withoutDots(address: string): string {
  const dotted = /(\d+)\.(\d+)\.(\d+)\.(\d+)$/.exec(address);
  if (!dotted) return address;
  const [a = 0, b = 0, c = 0, d = 0] = dotted.slice(1).map(Number);
  const hextets = `${(a * 256 + b).toString(16)}:${(c * 256 + d).toString(16)}`;
  return address.slice(0, dotted.index) + hextets;
}
