import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { accessSync, constants, mkdtempSync, renameSync, rmSync } from "node:fs";
import { createServer } from "node:net";
import { homedir, tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";

/*
 * Real servers for tests. `node scripts/services.ts` fetches those that are missing into a cache outside the tree; tests
 * start them on private ports and folders. Where SALLYPORT_REQUIRE_SERVICES is 1 a missing one is an error, elsewhere a
 * skip that says why (docs/decisions/0024-services-for-tests.md).
 */

/** Preparing a machine takes at most this long. */
const LONGEST_FETCH_MS = 480_000;
const LONGEST_START_MS = 60_000;

interface Service {
  /** Pinned; it names the folder in the cache. */
  version: string;
  /** Names a program to use instead of the cached one. */
  variable: string;
  /** The command that puts the program into the folder. */
  fetch(folder: string): { command: string; args: string[]; env: Record<string, string> };
  argv(address: { port: number; folder: string }): string[];
  /** Whether it serves now. */
  isUp(port: number): Promise<boolean>;
}

const OPA_VERSION = "v1.22.0";

const SERVICES = {
  opa: {
    version: OPA_VERSION,
    variable: "SALLYPORT_OPA",
    fetch: (folder) => ({
      command: "go",
      args: ["install", "-ldflags=-s -w", `github.com/open-policy-agent/opa@${OPA_VERSION}`],
      // Without C nothing but Go is needed. A Go that is too old gets the one it needs by itself (from Go 1.21 on).
      env: { GOBIN: folder, CGO_ENABLED: "0", GOTOOLCHAIN: "auto" },
    }),
    argv: ({ port, folder }) => [
      ...["run", "--server", "--addr", `127.0.0.1:${port}`, "--log-level", "error", "--skip-version-check"],
      folder,
    ],
    isUp: (port) =>
      fetch(`http://127.0.0.1:${port}/health`).then(
        ({ ok }) => ok,
        () => false,
      ),
  },
} satisfies Record<string, Service>;

export type ServiceName = keyof typeof SERVICES;

const IS_REQUIRED = process.env.SALLYPORT_REQUIRE_SERVICES === "1";

/** Why a service cannot be tested with; undefined when it can. Throws where services are required. */
export function reasonToSkip(name: ServiceName): string | undefined {
  if (isExecutable(programOf(name))) return undefined;
  const reason = `${name} is missing; node scripts/services.ts fetches it`;
  if (IS_REQUIRED) throw new Error(reason);
  return reason;
}

/** A running service. */
export interface StartedService extends AsyncDisposable {
  port: number;
}

/** Starts a service on a free port with a folder of files it reads; resolves when it serves. */
export async function startService(name: ServiceName, folder: string): Promise<StartedService> {
  const { argv, isUp }: Service = SERVICES[name];
  const port = await freePort();
  const child = spawn(programOf(name), argv({ port, folder }), { stdio: ["ignore", "ignore", "pipe"] });
  const said = text(child.stderr);
  const ended = new Promise<void>(
    (resolve) => void child.once("close", () => resolve()).once("error", () => resolve()),
  );
  const stop = async () => {
    child.kill("SIGKILL");
    await ended;
  };
  try {
    await untilUp(child, () => isUp(port));
  } catch (error) {
    await stop();
    throw new Error(`${name} did not start: ${await said}`, { cause: error });
  }
  return { port, [Symbol.asyncDispose]: stop };
}

async function untilUp(child: ChildProcess, isUp: () => Promise<boolean>): Promise<void> {
  const deadline = performance.now() + LONGEST_START_MS;
  while (child.exitCode === null && performance.now() < deadline) {
    if (await isUp()) return;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  throw new Error(child.exitCode === null ? "it does not answer" : `it ended with ${child.exitCode}`);
}

function programOf(name: ServiceName): string {
  return process.env[SERVICES[name].variable] ?? join(cacheFolder(name), name);
}

function cacheFolder(name: ServiceName): string {
  const cache = process.env.XDG_CACHE_HOME || join(homedir(), ".cache");
  return join(cache, "sallyport", "services", `${name}-${SERVICES[name].version}`);
}

function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  await new Promise<void>((resolve) => void server.close(() => resolve()));
  if (typeof address !== "object" || address === null) throw new Error("no port is free");
  return address.port;
}

/** Fetches into a folder beside the cache first: what is in the cache is whole. */
function fetchService(name: ServiceName): boolean {
  const folder = cacheFolder(name);
  const { command, args, env } = SERVICES[name].fetch(`${folder}.new-${process.pid}`);
  console.log(`Fetching ${name}: ${command} ${args.join(" ")}`);
  const scratch = mkdtempSync(join(tmpdir(), "sallyport-fetch-"));
  const { status, error } = spawnSync(command, args, {
    cwd: scratch,
    stdio: "inherit",
    env: { ...process.env, ...env },
    timeout: LONGEST_FETCH_MS,
  });
  rmSync(scratch, { recursive: true });
  if (status !== 0) console.error(`${name} could not be fetched: ${error?.message ?? `exit code ${status}`}`);
  else {
    rmSync(folder, { recursive: true, force: true });
    renameSync(`${folder}.new-${process.pid}`, folder);
  }
  return status === 0;
}

if (import.meta.main) {
  const missing = (Object.keys(SERVICES) as ServiceName[]).filter((name) => !isExecutable(programOf(name)));
  process.exitCode = missing.map(fetchService).every(Boolean) ? 0 : 1;
}
