import { execFileSync, spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import {
  chmodSync,
  chownSync,
  closeSync,
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { text } from "node:stream/consumers";
import { DEFAULT_USER } from "../../packages/adapters/src/sandbox/index.ts";
import type { PassOrder, PassResult, Selection } from "./pass-words.ts";
import { unprivilegedArgv } from "./unprivileged.ts";

const SOURCES = join(import.meta.dirname, "attacks");

/** Compiles the attack programs into a folder; static, so that they need nothing inside. */
function buildAttacks(folder: string): void {
  mkdirSync(folder, { recursive: true, mode: 0o755 });
  const sources = readdirSync(SOURCES).filter((name) => name.endsWith(".c"));
  const flags = ["-static", "-O1", "-Wall", "-Wextra", "-Werror", "-D_GNU_SOURCE", "-pthread"];
  const program = join(folder, "attack");
  execFileSync(process.env.CC ?? "cc", [
    ...flags,
    ...sources.map((name) => join(SOURCES, name)),
    "-o",
    program,
  ]);
  chmodSync(program, 0o755);
}

/** What only root can make, and only a careless host would mount: device nodes and a setuid program. */
function makeDevices(folder: string, programs: string): void {
  mkdirSync(folder);
  chmodSync(folder, 0o777);
  const nodes = {
    mem: ["c", "1", "1"],
    kmsg: ["c", "1", "11"],
    zero: ["c", "1", "5"],
    disk: ["b", "254", "0"],
  };
  for (const [name, numbers] of Object.entries(nodes)) {
    execFileSync("mknod", ["-m", "0666", join(folder, name), ...numbers]);
  }
  copyFileSync(join(programs, "attack"), join(folder, "setuid-root"));
  chmodSync(join(folder, "setuid-root"), 0o6755);
}

/** Which backend is attacked, on which host, with how much. */
export interface PassKind {
  backend: PassOrder["backend"];
  ociRuntime?: string;
  host: "root" | "unprivileged";
  selection: Selection;
  nested?: true;
}

/** A folder with the attack programs, for all passes of a run. */
export interface Workshop {
  folder: string;
  programs: string;
  devices?: string;
}

/** Builds the attack programs; remove the workshop afterwards. */
export function makeWorkshop(): Workshop {
  const folder = mkdtempSync(join(tmpdir(), "sallyport-escape-"));
  chmodSync(folder, 0o755);
  const [programs, devices] = [join(folder, "programs"), join(folder, "devices")];
  buildAttacks(programs);
  if (process.getuid?.() !== 0) return { folder, programs };
  makeDevices(devices, programs);
  return { folder, programs, devices };
}

/** By the system's own tools: attempts leave closed folders, and folders deeper than any path can say. */
export function removeWorkshop({ folder }: Workshop): void {
  execFileSync("chmod", ["-R", "u+rwX", folder]);
  execFileSync("rm", ["-rf", folder]);
}

/** Runs a pass in a process of its own, as the user it is about. Rejects when it does not come to its end. */
export async function runPass(workshop: Workshop, kind: PassKind, only?: string): Promise<PassResult> {
  const { backend, ociRuntime, selection } = kind;
  const user = process.getuid?.() === 0 && kind.host === "unprivileged" ? DEFAULT_USER : undefined;
  const folder = makeFolder(workshop, user);
  const token = `CANARY-${randomUUID()}`;
  const order: PassOrder = {
    ...{ backend, folder, token, selection, programs: workshop.programs, nested: kind.nested ?? false },
    runner: ociRuntime === undefined ? backend : `${backend}-${ociRuntime}`,
    ...(ociRuntime !== undefined && { ociRuntime }),
    ...(workshop.devices !== undefined && { devices: workshop.devices }),
    ...(only !== undefined && { only }),
  };
  const orderFile = `${folder}.json`;
  writeFileSync(orderFile, JSON.stringify(order), { mode: 0o644 });
  const script = join(import.meta.dirname, "pass.ts");
  const program = user
    ? unprivilegedArgv(script, user, workshop.folder)
    : { argv: [process.execPath, script] };
  return startPass({ ...program, argv: [...program.argv, orderFile, token], folder, token });
}

/** A pass's own folder: short, because sockets are made in it. */
function makeFolder(workshop: Workshop, user: { uid: number; gid: number } | undefined): string {
  const folder = mkdtempSync(join(workshop.folder, "p"));
  for (const path of [folder, ...["tmp", "run", "sites"].map((name) => join(folder, name))]) {
    mkdirSync(path, { recursive: true });
    chmodSync(path, 0o755);
    if (user) chownSync(path, user.uid, user.gid);
  }
  return folder;
}

interface Start {
  argv: string[];
  folder: string;
  token: string;
  user?: { uid: number; gid: number };
}

/** With a secret in its environment, in its arguments, and on descriptors that it does not know of. */
async function startPass({ argv: [program = "", ...args], folder, token, user }: Start): Promise<PassResult> {
  const secret = join(folder, "secret.txt");
  writeFileSync(secret, token);
  chmodSync(secret, 0o666);
  const open = openSync(secret, "r+");
  try {
    const child = spawn(program, args, {
      stdio: ["ignore", "pipe", "pipe", open, open, open],
      env: {
        ...{ PATH: process.env.PATH, HOME: folder, TMPDIR: join(folder, "tmp") },
        ...{ SALLYPORT_ESCAPE_TOKEN: token, SSH_AUTH_SOCK: token, ESCAPE_NOTE: token },
      },
      ...user,
    });
    if (!child.stdout || !child.stderr) throw new Error("the pass has no streams");
    const [stdout, stderr, [code]] = await Promise.all([
      text(child.stdout),
      text(child.stderr),
      once(child, "exit") as Promise<[number | null]>,
    ]);
    if (code !== 0) throw new Error(`the pass ended with ${code}: ${stderr}`);
    return JSON.parse(stdout) as PassResult;
  } finally {
    closeSync(open);
  }
}
