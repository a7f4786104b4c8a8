import { lstat, readlink } from "node:fs/promises";

/** How this host's system folders are laid out; the same for every run of a process. */
export interface SystemLayout {
  /** Folders that are seen as they are. */
  folders: string[];
  /** `/bin` → `usr/bin` and the like. */
  links: { path: string; leadsTo: string }[];
  /** Folders below /etc that are seen as they are; all else of /etc is made up. */
  settings: string[];
}

const SYSTEM_PATHS = [
  ...["/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/nix/store", "/gnu/store"],
];

/** Public by their nature: names of programs and certificates of authorities. */
const SETTINGS = [
  ...["/etc/alternatives", "/etc/ssl/certs", "/etc/pki/tls/certs", "/etc/pki/ca-trust/extracted"],
  "/etc/ca-certificates/extracted",
];

/** Looks once at how the host is laid out. */
export async function readSystemLayout(): Promise<SystemLayout> {
  const found = await Promise.all(SYSTEM_PATHS.map(lookAt));
  const settings = await Promise.all(SETTINGS.map(lookAt));
  return {
    folders: found.flatMap((one) => (one?.kind === "folder" ? [one.path] : [])),
    links: found.flatMap((one) => (one?.kind === "link" ? [{ path: one.path, leadsTo: one.leadsTo }] : [])),
    settings: settings.flatMap((one) => (one?.kind === "folder" ? [one.path] : [])),
  };
}

type Found = { kind: "folder"; path: string } | { kind: "link"; path: string; leadsTo: string } | undefined;

async function lookAt(path: string): Promise<Found> {
  const stats = await lstat(path).catch(missing);
  if (stats?.isDirectory()) return { kind: "folder", path };
  if (stats?.isSymbolicLink()) return { kind: "link", path, leadsTo: await readlink(path) };
  return undefined;
}

/** A host without that folder is fine; anything else is not ours to ignore. */
function missing(error: NodeJS.ErrnoException): undefined {
  if (error.code === "ENOENT" || error.code === "ENOTDIR") return undefined;
  throw error;
}
