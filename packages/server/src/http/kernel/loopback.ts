import { isIP } from "node:net";

/** Whether only this machine reaches what is bound to the host. A name other than localhost may mean anything. */
export function isLoopback(host: string): boolean {
  const bare = withoutBrackets(host.toLowerCase());
  if (bare === "localhost" || bare === "::1") return true;
  const address = bare.startsWith("::ffff:") ? bare.slice("::ffff:".length) : bare;
  return isIP(address) === 4 && address.startsWith("127.");
}

/** `[::1]` as the address it is. */
export function withoutBrackets(host: string): string {
  return host.startsWith("[") && host.endsWith("]") ? host.slice(1, -1) : host;
}

/** What to bind for a host. `localhost` is one address here, so that every socket is the one server's. */
export function bindAddress(host: string): string {
  return host.toLowerCase() === "localhost" ? "127.0.0.1" : withoutBrackets(host);
}

/** A host as it stands in a URL. */
export function inUrl(host: string): string {
  return isIP(host) === 6 ? `[${host}]` : host;
}
