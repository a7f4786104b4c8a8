import { isJsonObject, type Permissions } from "@sallyport/protocol";
import { ClaimReader } from "./claim-reader.ts";

const MAX_PATH = 4096;
const MAX_NAME = 255;
const NAMES = {
  filesystem: "filesystem_permissions",
  network: "network_permissions",
  credentials: "credential_permissions",
} as const;

/** What a token lets a tool touch; a group that is left out lets it touch nothing. Wrong parts go to `claims.issues`. */
export function readPermissions(claims: ClaimReader): Permissions {
  return {
    filesystem: inGroup(claims, NAMES.filesystem, readPaths) ?? [],
    network: inGroup(claims, NAMES.network, readHosts) ?? [],
    credentials:
      inGroup(claims, NAMES.credentials, (group) => group.texts("allowed_secrets", MAX_NAME)) ?? [],
  };
}

function inGroup<Result>(
  claims: ClaimReader,
  name: string,
  read: (group: ClaimReader) => Result,
): Result | undefined {
  const value = claims.get(name);
  if (value === undefined) return undefined;
  if (!isJsonObject(value)) {
    claims.note(name, value, "is not an object");
    return undefined;
  }
  const group = new ClaimReader(value, `/${name}`);
  const result = read(group);
  claims.issues.push(...group.issues);
  return result;
}

function readPaths(group: ClaimReader): Permissions["filesystem"] {
  const paths = group.texts("allowed_paths", MAX_PATH);
  const mode = group.get("mode");
  if (mode === "ro" || mode === "rw") return paths.map((path) => ({ path, mode }));
  group.note("mode", mode, 'is neither "ro" nor "rw"');
  return [];
}

/** Every port on every host: the claim has two lists and does not say which belong together. */
function readHosts(group: ClaimReader): Permissions["network"] {
  const hosts = group.texts("allowed_hosts", MAX_NAME);
  const ports = group.ports("allowed_ports");
  const pairs: Permissions["network"] = [];
  for (const host of hosts) for (const port of ports) pairs.push({ host, port });
  return pairs;
}
