import { text } from "node:stream/consumers";
import type { SandboxOffer, SandboxProcess } from "@sallyport/engine";
import { SallyportError } from "@sallyport/protocol";
import type { Backend, BackendLook } from "../run/backend.ts";

type Probed = Pick<Backend, "name" | "level"> & Partial<Pick<Backend, "look" | "canNotify">>;

/**
 * Runs a real sandbox in which forbidden acts are tried, and says what was found. Fails closed: whatever is not known
 * to be held counts as missing.
 */
export async function probeBackend(
  backend: Probed,
  start: () => Promise<SandboxProcess>,
): Promise<SandboxOffer> {
  const { name, level } = backend;
  const look = await lookAt(backend);
  if (look.missing.length > 0) return { backend: name, level, available: false, ...look };
  const missing = await tryForbidden(backend, start);
  const fix = missing.some((one) => one.startsWith(NOT_MADE)) ? FIXES[level] : [];
  return { backend: name, level, available: missing.length === 0, missing, fix, facts: look.facts };
}

async function lookAt(backend: Probed): Promise<BackendLook> {
  try {
    return (await backend.look?.()) ?? { missing: [], fix: [], facts: {} };
  } catch (error) {
    return { missing: [`it does not even tell its version: ${messageOf(error)}`], fix: [], facts: {} };
  }
}

async function tryForbidden(backend: Probed, start: () => Promise<SandboxProcess>): Promise<string[]> {
  try {
    const process = await start();
    process.stdin.end();
    const [said, errors, end] = await Promise.all([
      text(process.stdout),
      text(process.stderr),
      process.ended,
    ]);
    const lines = said.split("\n").filter((line) => line !== "");
    const tried = lines.indexOf("tried");
    if (tried < 0) return [`${NOT_MADE}: ${describe(end.ending)} ${errors.trim()}`.trim()];
    return [...lines.slice(0, tried), ...escapes(backend, lines.slice(tried + 1), end.ending.kind)];
  } catch (error) {
    return [`${NOT_MADE}: ${messageOf(error)}`];
  }
}

/** The last act has to end the sandbox; where that cannot be, every one of its attempts must have failed. */
function escapes(backend: Probed, lines: readonly string[], ending: string): string[] {
  if (backend.level !== "LEVEL_2" || ending === "violation") return [];
  if (backend.canNotify !== false) return ["a forbidden system call did not end the sandbox"];
  const allowed = /"(userns|overlay|idmap)":true/.exec(lines.join(""))?.[1];
  return allowed === undefined && ending === "exited" ? [] : [`a forbidden act worked: ${allowed ?? ending}`];
}

function describe(ending: { kind: string; message?: string }): string {
  return ending.message ?? ending.kind;
}

function messageOf(error: unknown): string {
  if (error instanceof SallyportError) return error.failure.message;
  return error instanceof Error ? error.message : String(error);
}

const NOT_MADE = "a sandbox could not be made";

/** What stands in the way of namespaces on hosts we have met. */
const FIXES = {
  LEVEL_2: [
    "sysctl -w user.max_user_namespaces=10000",
    "sysctl -w kernel.unprivileged_userns_clone=1   # older Debian",
    "sysctl -w kernel.apparmor_restrict_unprivileged_userns=0   # Ubuntu 24.04 and later",
    "in a container: start it with --security-opt seccomp=unconfined --security-opt systempaths=unconfined",
  ],
  LEVEL_1: [],
  LEVEL_0: [],
} satisfies Record<string, string[]>;
