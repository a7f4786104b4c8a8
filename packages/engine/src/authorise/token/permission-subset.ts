import { type Failure, failure, type Permissions } from "@sallyport/protocol";
import { coversHost } from "./covered-host.ts";
import { coversPath } from "./covered-path.ts";

/**
 * The first thing wanted that the outer permissions do not allow: E3105 for a path, E3104 for a host, E3205 for a
 * credential; undefined when all of it is inside (BC-1). For a token's permissions in its agent's, and for a tool's in
 * the token's.
 */
export function beyondAgent(wanted: Permissions, agent: Permissions): Failure | undefined {
  return (
    beyondPaths(wanted.filesystem, agent.filesystem) ??
    beyondHosts(wanted.network, agent.network) ??
    beyondCredentials(wanted.credentials, agent.credentials)
  );
}

function beyondPaths(
  wanted: Permissions["filesystem"],
  allowed: Permissions["filesystem"],
): Failure | undefined {
  const beyond = wanted.find((entry) => !coversPath(allowed, entry));
  if (!beyond) return undefined;
  const { path, mode } = beyond;
  const list = allowed.map((entry) => `${entry.path} (${entry.mode})`);
  return failure("E3105", {
    message: `Access to ${path} (${mode}) goes beyond what is allowed.`,
    advice: adviceFor("paths", list),
    details: { path, mode, allowed: list },
  });
}

function beyondHosts(wanted: Permissions["network"], allowed: Permissions["network"]): Failure | undefined {
  const beyond = wanted.find((entry) => !coversHost(allowed, entry));
  if (!beyond) return undefined;
  const list = allowed.map(endpoint);
  return failure("E3104", {
    message: `A connection to ${endpoint(beyond)} goes beyond what is allowed.`,
    advice: adviceFor("hosts", list),
    details: { host: endpoint(beyond), allowed: list },
  });
}

function endpoint({ host, port }: Permissions["network"][number]): string {
  return port === undefined ? `${host} (any port)` : `${host}:${port}`;
}

function beyondCredentials(wanted: readonly string[], allowed: readonly string[]): Failure | undefined {
  const credential = wanted.find((name) => !allowed.includes(name));
  if (credential === undefined) return undefined;
  return failure("E3205", {
    message: `The credential ${credential} goes beyond what is allowed.`,
    advice: adviceFor("credentials", allowed),
    details: { credential, allowed: [...allowed] },
  });
}

function adviceFor(what: string, allowed: readonly string[]): string {
  const present = allowed.length === 0 ? "none are allowed" : `allowed are ${allowed.join(", ")}`;
  return `Keep to the ${what} that are allowed, or have more allowed (${present}).`;
}
