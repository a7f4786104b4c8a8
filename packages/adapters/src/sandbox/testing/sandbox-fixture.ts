import { randomBytes } from "node:crypto";
import { chmod, mkdir, mkdtemp, readdir, readFile, realpath, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import type {
  Sandbox,
  SandboxEnd,
  SandboxLimits,
  SandboxOrder,
  WorkspaceView,
} from "@sallyport/engine/ports";
import type { IsolationLevel } from "@sallyport/protocol";

/** A sandbox under test and the level it is to keep. */
export interface SandboxFixture {
  sandbox: Sandbox;
  level: Extract<IsolationLevel, "LEVEL_1" | "LEVEL_2">;
}

/** Gives a test the sandbox of its suite. */
export type OpenSandbox = () => SandboxFixture;

export interface Ran {
  stdout: string;
  stderr: string;
  end: SandboxEnd;
}

export const MIB = 1024 * 1024;

/** Wide enough that no test meets one by accident. */
export const SAMPLE_LIMITS: SandboxLimits = {
  wallMs: 120_000,
  memoryBytes: 512 * MIB,
  processes: 64,
  openFiles: 256,
  fileBytes: 256 * MIB,
  diskBytes: 256 * MIB,
  outputBytes: MIB,
  connections: 4,
};

/** An order of a shell script, with whatever a test wants otherwise. */
export function sampleOrder(
  { level }: Pick<SandboxFixture, "level">,
  script: string,
  changes: Partial<Omit<SandboxOrder, "limits">> & { limits?: Partial<SandboxLimits> } = {},
): SandboxOrder {
  return {
    id: `x-${randomBytes(4).toString("hex")}`,
    level,
    argv: ["/bin/sh", "-c", script],
    env: {},
    cwd: "/",
    mounts: [],
    hidden: [],
    egress: [],
    ...changes,
    limits: { ...SAMPLE_LIMITS, ...changes.limits },
  };
}

/** Runs an order to its end. */
export async function ranOrder(sandbox: Sandbox, order: SandboxOrder, input = ""): Promise<Ran> {
  const process = await sandbox.start(order);
  process.stdin.end(input);
  const [stdout, stderr, end] = await Promise.all([
    text(process.stdout),
    text(process.stderr),
    process.ended,
  ]);
  return { stdout, stderr, end };
}

/** Runs a script in the suite's sandbox. */
export function ran(
  fixture: SandboxFixture,
  script: string,
  changes: Parameters<typeof sampleOrder>[2] = {},
): Promise<Ran> {
  return ranOrder(fixture.sandbox, sampleOrder(fixture, script, changes));
}

/** A folder that a sandbox's user can enter; gone after the test. */
export async function inOpenFolder(test: (folder: string) => Promise<void>): Promise<void> {
  const folder = await realpath(await mkdtemp(join(tmpdir(), "sallyport-box-")));
  await chmod(folder, 0o755);
  try {
    await test(folder);
  } finally {
    // An unprivileged overlay leaves a folder that even its owner cannot look into.
    await chmod(join(folder, "work", "work"), 0o700).catch(() => undefined);
    await rm(folder, { recursive: true, force: true });
  }
}

/** A workspace with a copy-on-write view of it. */
export async function makeView(folder: string): Promise<Extract<WorkspaceView, { kind: "overlay" }>> {
  const view = { root: join(folder, "ws"), upper: join(folder, "upper"), work: join(folder, "work") };
  for (const path of Object.values(view)) await mkdir(path);
  return { kind: "overlay", ...view };
}

/** Pids of this host whose command line holds the text, zombies not counted. */
export async function processesWith(marker: string): Promise<number[]> {
  const names = (await readdir("/proc")).filter((name) => /^\d+$/.test(name));
  const found = await Promise.all(
    names.map(async (name) => {
      const line = await readFile(`/proc/${name}/cmdline`, "utf8").catch(() => "");
      return line.includes(marker) ? [Number(name)] : [];
    }),
  );
  return found.flat();
}
