import { chmod, readFile, rm, writeFile } from "node:fs/promises";
import { basename, join } from "node:path";
import type { SandboxOrder } from "@sallyport/engine";
import type { SandboxHost } from "../host/sandbox-host.ts";
import type { OpenEgress, OpenedEgress, SandboxOptions } from "../options.ts";
import { GUEST } from "../plan/guest-paths.ts";

/** A run's way to the network, and the folder its socket is in. */
export interface RunNetwork {
  guest: string;
  egress: OpenedEgress;
  close(): Promise<void>;
}

/** Where systems keep the certificates of authorities in one file. */
const BUNDLES = [
  ...["/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt", "/etc/ssl/cert.pem"],
];

/** Opens the proxy for one run. Rejects when it cannot be opened; nothing is left behind then. */
export async function openNetwork(
  order: SandboxOrder,
  host: SandboxHost,
  options: SandboxOptions & { openEgress: OpenEgress },
): Promise<RunNetwork> {
  const guest = await host.folders.makeGuest();
  const removeGuest = () => rm(guest, { recursive: true, force: true });
  try {
    const egress = await options.openEgress({
      socketPath: join(guest, basename(GUEST.socket)),
      rules: order.egress,
      connections: order.limits.connections,
      ...(options.secrets && { secrets: options.secrets }),
    });
    if (egress.caCertificate !== undefined) await writeCertificates(guest, egress.caCertificate);
    return { guest, egress, close: () => egress.close().finally(removeGuest) };
  } catch (error) {
    await removeGuest();
    throw error;
  }
}

/** The proxy's authority besides the host's: connections it does not end are checked as ever. */
async function writeCertificates(guest: string, certificate: string): Promise<void> {
  const bundles = await Promise.all(BUNDLES.map((path) => readFile(path, "utf8").catch(() => "")));
  const known = bundles.find((text) => text !== "") ?? "";
  const path = join(guest, basename(GUEST.certificate));
  await writeFile(path, `${known}\n${certificate}\n`);
  await chmod(path, 0o644);
}
