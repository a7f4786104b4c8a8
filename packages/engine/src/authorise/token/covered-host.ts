import type { Permissions } from "@sallyport/protocol";

type HostPermission = Permissions["network"][number];

/** Names, wildcards and addresses; anything else could be read as more than a host. */
const HOST = /^[\w.*:[\]-]+$/;
const ADDRESS = /^[\d.]+$|:|^\[/;

/**
 * Whether one of the allowed entries covers the wanted host and port: the same host, or one below `*.domain`. An
 * allowed entry without a port means any port; a wanted one without a port needs all of them.
 */
export function coversHost(allowed: readonly HostPermission[], wanted: HostPermission): boolean {
  const host = plainHost(wanted.host);
  return (
    host !== undefined &&
    allowed.some((entry) => {
      const portFits = entry.port === undefined || entry.port === wanted.port;
      return portFits && hostFits(plainHost(entry.host), host);
    })
  );
}

function hostFits(pattern: string | undefined, host: string): boolean {
  if (pattern === undefined) return false;
  if (pattern === host) return true;
  // An address has no domain above it: `*.0.0.1` would be a hole, not a name.
  if (!pattern.startsWith("*.") || ADDRESS.test(host)) return false;
  const domain = pattern.slice(1);
  return domain.length > 1 && host.length > domain.length && host.endsWith(domain);
}

/** Lower case, without the root's dot. Undefined for other characters: look-alikes are other names. */
function plainHost(host: string): string | undefined {
  if (!HOST.test(host)) return undefined;
  return host.toLowerCase().replace(/\.$/, "");
}
