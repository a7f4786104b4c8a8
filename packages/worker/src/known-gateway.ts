import { hash, timingSafeEqual } from "node:crypto";
import { readFileSync } from "node:fs";
import type { IncomingHttpHeaders } from "node:http";
import { isIP } from "node:net";
import { WORKER_SECRET, WORKER_SECRET_HEADER } from "@sallyport/protocol/worker";

/*
 * A worker runs its tool for its gateway and for nobody else. A page in a browser can send requests to a worker on the
 * person's machine, or behind a name that it lets point there. So a run is JSON by its content type, which a page cannot
 * send elsewhere without asking first; it has no Origin, which browsers add; and its Host is a name that no page can have.
 * Whoever else reaches the port is kept out by the secret that gateway and workers share.
 */

/** What tells a gateway from others. */
export interface Gate {
  /** Undefined: whoever can reach the port may run the tools. */
  secret: string | undefined;
  /** Names under which the worker is reached, besides addresses and names without a dot. Not asked of who has the secret. */
  hosts: readonly string[];
}

/** The gate that the environment asks for. Throws, without a word of what was read, when the secret cannot be used. */
export function gateOf({
  WORKER_SECRET: text,
  WORKER_SECRET_FILE: file,
  WORKER_HOSTS,
}: NodeJS.ProcessEnv): Gate {
  const hosts = (WORKER_HOSTS ?? "").split(",").map((name) => name.trim().toLowerCase());
  if (text !== undefined) return { secret: checked(text.trim(), "WORKER_SECRET"), hosts };
  if (file === undefined) return { secret: undefined, hosts };
  return { secret: checked(readFileSync(file, "utf8").trim(), "The file of WORKER_SECRET_FILE"), hosts };
}

function checked(secret: string, place: string): string {
  if (WORKER_SECRET.test(secret)) return secret;
  throw new TypeError(`${place} needs 16 to 1000 characters without spaces.`);
}

const JSON_TYPE = /^application\/json\s*(?:;\s*charset="?utf-8"?\s*)?$/i;

/** Why a request is no run from the gateway; undefined when it may be one. */
export function refusalOf(
  headers: IncomingHttpHeaders,
  { secret, hosts }: Gate,
): { status: number; message: string } | undefined {
  if (headers.origin !== undefined) return { status: 403, message: "A worker takes no requests of pages." };
  if (secret === undefined && !isOwnHost(headers.host ?? "", hosts))
    return { status: 421, message: "The worker is not known by this Host: name it in WORKER_HOSTS." };
  if (!JSON_TYPE.test(headers["content-type"] ?? ""))
    return { status: 415, message: "The content type must be application/json." };
  const shown = headers[WORKER_SECRET_HEADER];
  if (secret === undefined || (typeof shown === "string" && isEqual(shown, secret))) return undefined;
  return { status: 401, message: `${WORKER_SECRET_HEADER} must be the secret of gateway and worker.` };
}

function isOwnHost(host: string, hosts: readonly string[]): boolean {
  const name = host
    .toLowerCase()
    .replace(/:\d+$/, "")
    .replace(/^\[(.*)\]$/, "$1");
  return isIP(name) > 0 || /^[a-z0-9_-]+$/.test(name) || (name !== "" && hosts.includes(name));
}

/** Takes as long wherever the texts differ. */
function isEqual(one: string, other: string): boolean {
  return timingSafeEqual(hash("sha256", one, "buffer"), hash("sha256", other, "buffer"));
}
