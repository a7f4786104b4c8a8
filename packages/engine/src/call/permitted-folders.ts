import { type Failure, failure, type Permissions } from "@sallyport/protocol";
import { readPath } from "../match/paths.ts";

/** A manifest's paths as this host has them. */
export interface PermittedFolders {
  /** The one it may change, staged. */
  writable: string | undefined;
  readable: string[];
}

/**
 * Where a tool may read and write: relative paths start at the house's root. A tool has at most one folder to write in,
 * because what one call changes is one transaction over one tree.
 */
export function permittedFolders(
  { filesystem }: Pick<Permissions, "filesystem">,
  root: string,
): PermittedFolders | Failure {
  const found: PermittedFolders = { writable: undefined, readable: [] };
  if (filesystem.length === 0) return found;
  const base = readPath(root);
  for (const { path, mode } of filesystem) {
    const absolute = base && readPath(path, base);
    if (!absolute?.startsWith("/")) {
      return failure("E3105", { message: `The path ${path} in the tool's permissions leads nowhere.` });
    }
    if (mode === "ro") found.readable.push(absolute);
    else if (found.writable === undefined) found.writable = absolute;
    else {
      const message = `A tool can change one folder; ${found.writable} and ${absolute} are two.`;
      return failure("E3105", { message, advice: "Permit the folder that holds both." });
    }
  }
  return found;
}

/** The permissions with every path absolute, as they are compared with an agent's. */
export function absolutePermissions(permissions: Permissions, root: string | undefined): Permissions {
  if (root === undefined || permissions.filesystem.length === 0) return permissions;
  const base = readPath(root);
  if (base === undefined) return permissions;
  const filesystem = permissions.filesystem.map((entry) => ({
    ...entry,
    path: readPath(entry.path, base) ?? entry.path,
  }));
  return { ...permissions, filesystem };
}
