import { isIP, isIPv4 } from "node:net";
import { readHextets } from "./hextets.ts";

/** What an address leads to, as far as its number tells. */
export type AddressKind =
  | "public"
  | "loopback"
  | "private"
  | "shared"
  | "reserved"
  | "link-local"
  | "metadata"
  | "multicast"
  | "broadcast"
  | "unspecified"
  | "invalid";

type Network = readonly [network: string, bits: number, kind: AddressKind];

/** A network whose address has been read. */
interface Range<Mark> {
  hextets: readonly number[];
  bits: number;
  mark: Mark;
}

/** The first that holds counts; what none holds is public. */
const IPV4: readonly Network[] = [
  ["169.254.169.254", 32, "metadata"],
  ["169.254.170.2", 32, "metadata"],
  ["169.254.170.23", 32, "metadata"],
  ["100.100.100.200", 32, "metadata"],
  ["168.63.129.16", 32, "metadata"],
  ["192.0.0.192", 32, "metadata"],
  ["0.0.0.0", 8, "unspecified"],
  ["10.0.0.0", 8, "private"],
  ["100.64.0.0", 10, "shared"],
  ["127.0.0.0", 8, "loopback"],
  ["169.254.0.0", 16, "link-local"],
  ["172.16.0.0", 12, "private"],
  ["192.0.0.0", 24, "reserved"],
  ["192.0.2.0", 24, "reserved"],
  ["192.88.99.0", 24, "reserved"],
  ["192.168.0.0", 16, "private"],
  ["198.18.0.0", 15, "reserved"],
  ["198.51.100.0", 24, "reserved"],
  ["203.0.113.0", 24, "reserved"],
  ["224.0.0.0", 4, "multicast"],
  ["255.255.255.255", 32, "broadcast"],
  ["240.0.0.0", 4, "reserved"],
];

/** The first that holds counts; what none holds is not handed out to anyone yet. */
const IPV6: readonly Network[] = [
  ["fd00:ec2::254", 128, "metadata"],
  ["fd00:ec2::23", 128, "metadata"],
  ["fd20:ce::254", 128, "metadata"],
  ["::", 128, "unspecified"],
  ["::1", 128, "loopback"],
  ["64:ff9b:1::", 48, "private"],
  ["fc00::", 7, "private"],
  ["fec0::", 10, "private"],
  ["fe80::", 10, "link-local"],
  ["ff00::", 8, "multicast"],
  ["2001::", 23, "reserved"],
  ["2001:db8::", 32, "reserved"],
  ["3fff::", 20, "reserved"],
  ["2000::", 3, "public"],
];

/** IPv6 addresses that lead to an IPv4 address, and the hextet it begins at. */
const WRAPPED: readonly (readonly [network: string, bits: number, at: number])[] = [
  ["::ffff:0:0", 96, 6],
  ["::ffff:0:0:0", 96, 6],
  ["64:ff9b::", 96, 6],
  ["2002::", 16, 1],
];

const IPV4_RANGES = IPV4.map(([network, bits, mark]) => ({ hextets: hextetsOfIpv4(network), bits, mark }));
const IPV6_RANGES = IPV6.map(rangeOfIpv6);
const WRAPPED_RANGES = WRAPPED.map(rangeOfIpv6);

/** The kind of an address in text, `invalid` when it is none; a zone (`%eth0`) is left out of account. */
export function addressKind(address: string): AddressKind {
  if (isIPv4(address)) return kindOfIpv4(hextetsOfIpv4(address));
  // What Node does not take for an address it would look up, and dial whatever that leads to.
  if (!isIP(address)) return "invalid";
  const hextets = readHextets(address.replace(/%.*$/, ""));
  return hextets ? kindOfIpv6(hextets) : "invalid";
}

function kindOfIpv4(hextets: readonly number[]): AddressKind {
  return markOf(hextets, IPV4_RANGES) ?? "public";
}

function kindOfIpv6(hextets: readonly number[]): AddressKind {
  const innerAt = markOf(hextets, WRAPPED_RANGES);
  if (innerAt !== undefined) return kindOfIpv4(hextets.slice(innerAt, innerAt + 2));
  const kind = markOf(hextets, IPV6_RANGES) ?? "reserved";
  return kind === "public" || kind === "reserved" ? (tunnelledKind(hextets) ?? kind) : kind;
}

/** ISATAP and the old "compatible" form: outwardly public or reserved, but a router may unwrap them. */
function tunnelledKind(hextets: readonly number[]): AddressKind | undefined {
  const isatap = hextets[5] === 0x5efe && ((hextets[4] ?? 0) & 0xfdff) === 0;
  const compatible = hextets.slice(0, 6).every((part) => part === 0);
  const inner = isatap || compatible ? kindOfIpv4(hextets.slice(6)) : "public";
  return inner === "public" ? undefined : inner;
}

function markOf<Mark>(hextets: readonly number[], ranges: readonly Range<Mark>[]): Mark | undefined {
  return ranges.find((range) => isWithin(hextets, range))?.mark;
}

function isWithin(hextets: readonly number[], { hextets: network, bits }: Range<unknown>): boolean {
  return network.every((part, at) => {
    const left = Math.min(16, Math.max(0, bits - at * 16));
    const mask = (0xffff << (16 - left)) & 0xffff;
    return ((hextets[at] ?? 0) & mask) === (part & mask);
  });
}

function rangeOfIpv6<Mark>([network, bits, mark]: readonly [string, number, Mark]): Range<Mark> {
  return { hextets: readHextets(network) ?? [], bits, mark };
}

function hextetsOfIpv4(address: string): number[] {
  const [a = 0, b = 0, c = 0, d = 0] = address.split(".").map(Number);
  return [a * 256 + b, c * 256 + d];
}
