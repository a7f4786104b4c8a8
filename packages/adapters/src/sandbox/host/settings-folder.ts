import { copyFile, mkdir, symlink, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { SystemLayout } from "../plan/system-layout.ts";

/** Who a process is inside, whoever it is outside. */
export const INSIDE_USER = { uid: 1000, gid: 1000 } as const;

/** Made up: a sandbox knows one user, its own name for this machine and no name server. */
const MADE_UP: Record<string, string> = {
  passwd: [
    `sandbox:x:${INSIDE_USER.uid}:${INSIDE_USER.gid}:sandbox:/tmp:/bin/sh`,
    "nobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin",
    "",
  ].join("\n"),
  group: `sandbox:x:${INSIDE_USER.gid}:\nnogroup:x:65534:\n`,
  "nsswitch.conf": "passwd: files\ngroup: files\nhosts: files\nservices: files\nprotocols: files\n",
  hosts: "127.0.0.1 localhost sandbox\n::1 localhost\n",
  "resolv.conf": "",
  hostname: "sandbox\n",
};

/** Public and small: where libraries are, the time zone, names of services. */
const COPIED = [
  "ld.so.cache",
  "ld.so.conf",
  "localtime",
  "services",
  "protocols",
  "mime.types",
  "ssl/openssl.cnf",
];

const LINKS = { mtab: "/proc/mounts", "os-release": "../usr/lib/os-release" };

/** Fills the folder that stands in for /etc: nothing of the host's own but what every program may know. */
export async function makeSettingsFolder(folder: string, system: SystemLayout): Promise<void> {
  await mkdir(join(folder, "ssl"), { recursive: true });
  const mountPoints = system.settings.map((path) => join(folder, path.slice("/etc/".length)));
  await Promise.all([
    ...mountPoints.map((path) => mkdir(path, { recursive: true })),
    ...Object.entries(MADE_UP).map(([name, text]) => writeFile(join(folder, name), text, { mode: 0o644 })),
    ...COPIED.map((name) => copyIfThere(join("/etc", name), join(folder, name))),
    ...Object.entries(LINKS).map(([name, leadsTo]) => symlink(leadsTo, join(folder, name))),
  ]);
}

async function copyIfThere(source: string, target: string): Promise<void> {
  await mkdir(dirname(target), { recursive: true });
  await copyFile(source, target).catch((error: NodeJS.ErrnoException) => {
    // Not every system has each, and some keep one to root.
    if (error.code !== "ENOENT" && error.code !== "EACCES") throw error;
  });
}
