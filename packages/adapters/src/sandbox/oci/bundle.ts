import { chown, mkdir, rm, symlink, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { HostUser } from "../launcher/index.ts";
import type { OciConfig } from "./oci-config.ts";

export interface BundleOrder {
  /** An empty folder of ours. */
  folder: string;
  config: OciConfig;
  links: readonly { path: string; leadsTo: string }[];
  /** Who the runtime runs as, when that is not us. */
  owner: HostUser | undefined;
}

/** Fills a bundle: the configuration, an empty root with its links, and a place for the runtime's own notes. */
export async function fillBundle({ folder, config, links, owner }: BundleOrder): Promise<void> {
  const root = join(folder, "rootfs");
  await mkdir(root);
  await mkdir(join(folder, "state"), { mode: 0o700 });
  await writeFile(join(folder, "config.json"), JSON.stringify(config), { mode: 0o600 });
  for (const { path, leadsTo } of links) await makeLink(join(root, path), leadsTo);
  if (owner === undefined) return;
  const given = [
    "",
    "rootfs",
    "state",
    "config.json",
    ...new Set(links.map(({ path }) => join("rootfs", dirname(path)))),
  ];
  for (const name of given) await chown(join(folder, name), owner.uid, owner.gid);
}

async function makeLink(path: string, leadsTo: string): Promise<void> {
  await mkdir(dirname(path), { recursive: true });
  await symlink(leadsTo, path);
}

/** Removes a bundle with whatever the runtime has made in it. */
export async function removeBundle(folder: string): Promise<void> {
  await rm(folder, { recursive: true, force: true });
}
