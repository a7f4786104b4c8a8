import { existsSync, readFileSync, readlinkSync } from "node:fs";
import { text } from "node:stream/consumers";
import type { SandboxOffer, SandboxProcess } from "@sallyport/engine/ports";
import { failure, SallyportError } from "@sallyport/protocol";
import type { Backend, BackendLook } from "../run/backend.ts";

/** What decides whether this process may make namespaces and mounts. */
export interface NamespaceFacts {
  isRoot: boolean;
  /** CAP_SYS_ADMIN, without which even root mounts nothing. */
  hasSysAdmin: boolean;
  /** Ubuntu's rule: only programs with an AppArmor profile get user namespaces. */
  appArmorRestricts: boolean;
  /** False when the host permits no user namespaces at all. */
  hasUserNamespaces: boolean;
  isContainer: boolean;
}

const DOCS = "see docs/operate/sandbox.md";

/** What helps on this host, in order. Never advises to switch off a protection of the whole host. */
export function namespaceAdvice(facts: NamespaceFacts): string[] {
  const { isRoot, hasSysAdmin, appArmorRestricts, hasUserNamespaces, isContainer } = facts;
  if (isContainer) {
    return [
      ...(isRoot && !hasSysAdmin ? ["give the container CAP_SYS_ADMIN (--cap-add SYS_ADMIN)"] : []),
      "let the container make namespaces: --security-opt seccomp=unconfined --security-opt systempaths=unconfined, or a seccomp profile that permits clone, unshare and mount",
    ];
  }
  if (isRoot && !hasSysAdmin)
    return [
      `give this process CAP_SYS_ADMIN (systemd: CapabilityBoundingSet=), or start it as a normal user`,
    ];
  if (appArmorRestricts && !isRoot) {
    return [
      `load an AppArmor profile that permits \`userns\` to bwrap: ${DOCS}`,
      "or apt-get install crun, which has such a profile, and set sandbox.backends: [oci]",
      "or run Sallyport as root: tools still run as sandbox.user",
    ];
  }
  if (!hasUserNamespaces)
    return [`this host permits no user namespaces: run Sallyport in a VM, or on a host that does; ${DOCS}`];
  return [];
}

/** Looks at this host and this process. A file that is not there is a restriction that is not there. */
function readNamespaceFacts(): NamespaceFacts {
  const setting = (path: string) => read(`/proc/sys/${path}`).trim();
  const capabilities = BigInt(`0x${/^CapEff:\s*([0-9a-f]+)/m.exec(read("/proc/self/status"))?.[1] ?? "0"}`);
  return {
    isRoot: process.getuid?.() === 0,
    hasSysAdmin: (capabilities & CAP_SYS_ADMIN) !== 0n,
    appArmorRestricts: setting("kernel/apparmor_restrict_unprivileged_userns") === "1",
    hasUserNamespaces:
      setting("user/max_user_namespaces") !== "0" && setting("kernel/unprivileged_userns_clone") !== "0",
    // An image's marker may be left on a machine that was made of it.
    isContainer:
      ["/.dockerenv", "/run/.containerenv"].some((path) => existsSync(path)) &&
      readlinkSync("/proc/self/ns/pid") !== FIRST_PID_NAMESPACE,
  };
}

const CAP_SYS_ADMIN = 1n << 21n;
/** The kernel gives it this number at every start. */
const FIRST_PID_NAMESPACE = "pid:[4026531836]";

function read(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return "";
  }
}

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
  const { missing, advice } = await tryForbidden(backend, start);
  const fix = advice.length > 0 ? advice : missing.flatMap(adviceAbout);
  return { backend: name, level, available: missing.length === 0, missing, fix, facts: look.facts };
}

async function lookAt(backend: Probed): Promise<BackendLook> {
  try {
    return (await backend.look?.()) ?? { missing: [], fix: [], facts: {} };
  } catch (error) {
    return { missing: [`it does not even tell its version: ${messageOf(error)}`], fix: [], facts: {} };
  }
}

interface Tried {
  missing: string[];
  /** What was said with the reason; empty where only this host's settings may tell. */
  advice: string[];
}

async function tryForbidden(backend: Probed, start: () => Promise<SandboxProcess>): Promise<Tried> {
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
    const missing =
      tried < 0
        ? [`${whatFailed(end.ending.kind)}: ${describe(end.ending)} ${errors.trim()}`.trim()]
        : [...lines.slice(0, tried), ...escapes(backend, lines.slice(tried + 1), end.ending.kind)];
    return { missing, advice: [] };
  } catch (error) {
    return { missing: [`${NOT_MADE}: ${messageOf(error)}`], advice: adviceOf(error) };
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

/** The catalogue's own says to ask doctor, who is asking. */
function adviceOf(error: unknown): string[] {
  if (!(error instanceof SallyportError)) return [];
  const { code, advice } = error.failure;
  return advice === undefined || advice === failure(code).advice ? [] : [advice];
}

const NOT_MADE = "a sandbox could not be made";
/** The launcher's words. */
const NO_OVERLAY = " through an overlay: ";

/** What helps where only the words of the reason are known, and this host's settings. */
function adviceAbout(missing: string): string[] {
  if (!missing.startsWith(NOT_MADE)) return [];
  if (!missing.includes(NO_OVERLAY)) return namespaceAdvice(readNamespaceFacts());
  return [
    "if something is mounted at that path, unmount it: not every file system can be seen through an overlay",
    "or run Sallyport as root, or on Linux 5.11 or newer: a normal user gets no overlay on older ones",
  ];
}

/** A busy or small host is no host without namespaces, and gets no advice about them. */
function whatFailed(ending: string): string {
  return ending === "limit" || ending === "timeout" ? "a sandbox was made and did not get far" : NOT_MADE;
}
