import type { Confinement, Sandbox, SandboxOrder } from "@sallyport/engine/ports";

const MIB = 1_048_576;

/** Bounds with room for Node and no network. */
export const BOUNDS: Confinement = {
  level: "LEVEL_2",
  mounts: [],
  hidden: [],
  egress: [],
  cwd: "/tmp",
  limits: {
    wallMs: 30_000,
    memoryBytes: 512 * MIB,
    processes: 64,
    openFiles: 256,
    fileBytes: 64 * MIB,
    diskBytes: 64 * MIB,
    outputBytes: MIB,
    connections: 4,
  },
};

/** Runs a command in the sandbox, from the start until nothing of it is left. Throws unless it exits with 0. */
export async function runInside(
  sandbox: Sandbox,
  argv: readonly string[],
  changes: Partial<SandboxOrder> = {},
): Promise<void> {
  const process = await sandbox.start({ ...BOUNDS, id: crypto.randomUUID(), argv, env: {}, ...changes });
  process.stdin.end();
  process.stdout.resume();
  process.stderr.resume();
  const { ending } = await process.ended;
  if (ending.kind !== "exited" || ending.code !== 0)
    throw new Error(`${argv.join(" ")} ended with ${JSON.stringify(ending)}`);
}
