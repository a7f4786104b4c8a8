import { spawn } from "node:child_process";
import { once } from "node:events";
import { text } from "node:stream/consumers";
import type { SandboxEnd, SandboxEnding, SandboxOrder } from "@sallyport/engine/ports";

/** What came of a run. */
export interface Ran {
  stdout: string;
  stderr: string;
  end: SandboxEnd;
  runner: string;
}

const LONGEST_MS = 20_000;

/** Runs an order's command without any sandbox, as the sandbox's user: what the attack can do when nothing holds it. */
export async function startBare(
  order: SandboxOrder,
  user: { uid: number; gid: number } | undefined,
): Promise<Ran> {
  const [program = "", ...args] = order.argv;
  const child = spawn(program, args, { cwd: order.cwd, env: order.env, detached: true, ...user });
  const timer = setTimeout(() => endGroup(child.pid), LONGEST_MS);
  child.stdin.on("error", () => child.stdin.destroy()).end();
  const [stdout, stderr, [code, signal]] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    once(child, "exit").then((values) => {
      // Children that the attack has left behind hold the streams open.
      endGroup(child.pid);
      return values as [number | null, string | null];
    }),
  ]);
  clearTimeout(timer);
  const ending: SandboxEnding =
    code === null ? { kind: "signalled", signal: signal ?? "" } : { kind: "exited", code };
  const usage = { cpuMs: 0, memoryPeakBytes: 0, networkBytesSent: 0, networkBytesReceived: 0 };
  return { stdout, stderr, runner: "none", end: { ending, usage, enforcement: {}, violations: [] } };
}

/** Our own child's group, which is named by its pid; gone is fine. */
function endGroup(pid: number | undefined): void {
  try {
    if (pid !== undefined) process.kill(-pid, "SIGKILL");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
  }
}
