import { type Destination, readDestination } from "./destination.ts";
import { writeHextets } from "./hextets.ts";

/** SOCKS5's messages (RFC 1928), as pure functions over bytes. */

export const SOCKS_VERSION = 5;
export const NO_AUTHENTICATION = 0;
const CONNECT = 1;
const IPV4 = 1;
const NAME = 3;
const IPV6 = 4;

/** What a client has sent so far comes to: not enough yet, broken, or a message of so many bytes. */
export type SocksRead<Message> =
  | { kind: "partial" }
  | { kind: "broken" }
  | { kind: "message"; message: Message; size: number };

/** Version and methods; the message says whether going without authentication is among them. */
export function readGreeting(bytes: Buffer): SocksRead<{ isOpen: boolean }> {
  if (bytes.length > 0 && bytes[0] !== SOCKS_VERSION) return { kind: "broken" };
  const size = 2 + (bytes[1] ?? 0);
  if (bytes.length < 2 || bytes.length < size) return { kind: "partial" };
  return { kind: "message", message: { isOpen: bytes.subarray(2, size).includes(NO_AUTHENTICATION) }, size };
}

/** What a client asks for: `to` is undefined when its host cannot be read. */
export type SocksRequest =
  | { command: "connect"; to: Destination | undefined; host: string }
  | { command: "other" }
  | { command: "unknown address" };

/** The request after the greeting. */
export function readRequest(bytes: Buffer): SocksRead<SocksRequest> {
  if (bytes.length > 0 && bytes[0] !== SOCKS_VERSION) return { kind: "broken" };
  if (bytes.length < 5) return { kind: "partial" };
  if (bytes[2] !== 0) return { kind: "broken" };
  const length = addressLength(bytes);
  if (length === undefined)
    return { kind: "message", message: { command: "unknown address" }, size: bytes.length };
  const size = 4 + length + 2;
  if (bytes.length < size) return { kind: "partial" };
  const message: SocksRequest = bytes[1] === CONNECT ? connectTo(bytes, size) : { command: "other" };
  return { kind: "message", message, size };
}

/** The answer to a request; the address we connected from is nobody's business. */
export function socksReply(reply: number): Buffer {
  return Buffer.from([SOCKS_VERSION, reply, 0, IPV4, 0, 0, 0, 0, 0, 0]);
}

/** Of the address with its own length byte, if it has one. */
function addressLength(bytes: Buffer): number | undefined {
  const lengths: Record<number, number> = { [IPV4]: 4, [NAME]: 1 + (bytes[4] ?? 0), [IPV6]: 16 };
  return lengths[bytes[3] ?? 0];
}

function connectTo(bytes: Buffer, size: number): SocksRequest {
  const host = hostOf(bytes[3] ?? 0, bytes.subarray(4, size - 2));
  return { command: "connect", host, to: readDestination(host, bytes.readUInt16BE(size - 2)) };
}

/** What is not UTF-8 becomes a character that no host has. */
function hostOf(kind: number, address: Buffer): string {
  if (kind === IPV4) return address.join(".");
  return kind === IPV6 ? `[${writeHextets(address)}]` : address.subarray(1).toString("utf8");
}
