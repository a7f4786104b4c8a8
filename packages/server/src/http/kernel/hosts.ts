import { isIP } from "node:net";
import { type Failure, failure } from "@sallyport/protocol";
import type { DoorSettings } from "./door-settings.ts";
import { isLoopback, withoutBrackets } from "./loopback.ts";

const HOST = /^(\[[0-9a-f:.]+\]|[\w.-]+)(?::\d{1,5})?$/i;
const REMEMBERED = 256;

/**
 * Which Host headers are for this door. A page whose name was rebound to this machine's address sends its own name
 * here, so a name counts only when it is known; an address cannot be rebound and counts wherever it is served.
 */
export class Hosts {
  readonly #names: ReadonlySet<string>;
  readonly #servesAddresses: boolean;
  readonly #accepted = new Set<string>();

  constructor({ host, allowedHosts, publicUrl }: DoorSettings) {
    const named = [host, ...allowedHosts, ...(publicUrl === undefined ? [] : [new URL(publicUrl).host])];
    this.#names = new Set(named.map((name) => plainName(name) ?? name.toLowerCase()));
    this.#servesAddresses = !isLoopback(host);
  }

  /** E3903 for no or a broken header, E3936 for one that is for somebody else. */
  refuse(header: string | undefined): Failure | undefined {
    if (header !== undefined && this.#accepted.has(header)) return undefined;
    const name = plainName(header ?? "");
    if (header === undefined || name === undefined) return unusable();
    if (!this.#serves(name))
      return failure("E3936", { message: `Requests for ${name} are not served here.` });
    if (this.#accepted.size < REMEMBERED) this.#accepted.add(header);
    return undefined;
  }

  #serves(name: string): boolean {
    return isLoopback(name) || this.#names.has(name) || (this.#servesAddresses && isIP(name) !== 0);
  }
}

/** The name or address alone: no port, no brackets, no dot at its end. */
function plainName(host: string): string | undefined {
  const [, name] = HOST.exec(host) ?? [];
  return name === undefined ? undefined : withoutBrackets(name.toLowerCase()).replace(/\.$/, "");
}

function unusable(): Failure {
  return failure("E3903", {
    message: "The request has no usable Host header.",
    advice: "Send one Host header with the name or address of this server, as every HTTP client does.",
  });
}
