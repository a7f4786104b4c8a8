import { readFileSync } from "node:fs";
import { hostname, networkInterfaces } from "node:os";
import { join } from "node:path";
import { type HostCanaries, SHARED_FILE } from "./host-canaries.ts";
import type { Places } from "./places.ts";
import type { Site } from "./site.ts";

/** Everything there is to attack, as it is on this host now. */
export function placesOf(
  site: Site,
  host: { canaries: HostCanaries; programs: string; devices?: string },
): Places {
  const { canaries } = host;
  return {
    workspace: site.workspace,
    out: site.out,
    secret: join(site.out, "secret.txt"),
    readOnly: site.readOnly,
    hiddenFile: join(site.workspace, ".env"),
    programs: host.programs,
    devices: host.devices ?? "/none",
    ...{
      hiddenSocket: canaries.hiddenSocket,
      sockets: canaries.socketsFolder,
      unix: canaries.unix,
      abstract: canaries.abstract,
    },
    ...{ tcp: String(canaries.tcp), udp: String(canaries.udp), hostName: hostname() },
    ...addressesOfHost(),
    nameServers: [...nameServers(), "127.0.0.53", "8.8.8.8"].join(","),
    ...{ pid: String(canaries.pid), node: String(process.pid), parent: String(process.ppid) },
    ...{ sharedMemory: canaries.sharedMemory, sharedFile: SHARED_FILE },
  };
}

/** Without those that mean nothing without their interface. */
function addressesOfHost(): Pick<Places, "addresses" | "otherAddresses"> {
  const all = Object.values(networkInterfaces()).flatMap((list) => list ?? []);
  const plain = all.filter(({ scopeid }) => scopeid === undefined || scopeid === 0);
  return {
    addresses: plain.map(({ address }) => address).join(","),
    otherAddresses: plain.flatMap(({ address, internal }) => (internal ? [] : [address])).join(","),
  };
}

function nameServers(): string[] {
  const settings = readFileSync("/etc/resolv.conf", "utf8");
  return [...settings.matchAll(/^nameserver\s+([0-9a-fA-F.:]+)\s*$/gm)].map((match) => match[1] ?? "");
}
