import type { MintClaims } from "@sallyport/engine";
import { failure, SallyportError } from "@sallyport/protocol";

export interface PathFlag {
  path: string;
  mode: "ro" | "rw";
}

export interface HostFlag {
  host: string;
  port: number;
}

/** The paths in the form a token has for them; throws E3921 when they have several modes, which it cannot say. */
export function pathsClaim(flags: readonly PathFlag[]): MintClaims["filesystem"] {
  const [first] = flags;
  if (!first) return undefined;
  if (flags.some(({ mode }) => mode !== first.mode))
    throw cannotSay(
      "A token has one mode for all its paths.",
      "Mint one token for the paths to read and another for the paths to write.",
    );
  return { paths: flags.map(({ path }) => path), mode: first.mode };
}

/** The hosts and ports in the form a token has for them; throws E3921 when it would allow more than was asked for. */
export function networkClaim(flags: readonly HostFlag[]): MintClaims["network"] {
  if (flags.length === 0) return undefined;
  const hosts = [...new Set(flags.map(({ host }) => host))];
  const ports = [...new Set(flags.map(({ port }) => port))];
  const asked = new Set(flags.map(({ host, port }) => `${host}:${port}`));
  const more = hosts
    .flatMap((host) => ports.map((port) => `${host}:${port}`))
    .filter((pair) => !asked.has(pair));
  if (more.length > 0)
    throw cannotSay(
      `A token opens each of its ports on each of its hosts, so this one would also allow ${more.join(", ")}.`,
      "Name those too, or mint a token for each port.",
    );
  return { hosts, ports };
}

function cannotSay(message: string, advice: string): SallyportError {
  return new SallyportError(failure("E3921", { message, advice }));
}
