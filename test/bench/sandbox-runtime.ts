import { SandboxManager } from "@anthropic-ai/sandbox-runtime";
import type { Racer } from "./sandbox-race.ts";
import { succeed } from "./sandbox-references.ts";

export const SANDBOX_RUNTIME = "sandbox-runtime";

/** `@anthropic-ai/sandbox-runtime` as its own callers use it, or why it cannot be used here. */
export type RuntimeRacer = { racer: Racer; close(): Promise<void> } | { reason: string };

/** Set up once, as it is meant to be; a run is wrapping, running and cleaning up. */
export async function sandboxRuntime(command: string): Promise<RuntimeRacer> {
  const { errors } = SandboxManager.checkDependencies();
  if (errors.length > 0) return { reason: `${SANDBOX_RUNTIME}: ${errors.join(", ")}` };
  try {
    await SandboxManager.initialize({
      network: { allowedDomains: [], deniedDomains: [] },
      filesystem: { denyRead: [], allowWrite: [], denyWrite: [] },
    });
    const racer = { name: SANDBOX_RUNTIME, run: () => wrapAndRun(command) };
    await racer.run();
    return { racer, close: () => SandboxManager.reset() };
  } catch (error) {
    await SandboxManager.reset();
    return { reason: `${SANDBOX_RUNTIME}: ${error instanceof Error ? error.message : String(error)}` };
  }
}

async function wrapAndRun(command: string): Promise<void> {
  const { argv, env } = await SandboxManager.wrapWithSandboxArgv(command);
  await succeed(argv, { env });
  SandboxManager.cleanupAfterCommand();
}
