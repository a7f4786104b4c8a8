import { spawn } from "node:child_process";
import { randomInt } from "node:crypto";
import { mkdirSync, mkdtempSync, renameSync, rmSync } from "node:fs";
import { connect as connectSocket, createServer } from "node:net";
import { homedir, tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { SERVICES, type ServerCommand, type Service, type ServiceOptions } from "./service-table.ts";

/*
 * Real servers for tests. `node scripts/services.ts` fetches those that are missing into a cache outside the tree; tests
 * start them on private ports and folders. Where SALLYPORT_REQUIRE_SERVICES is 1 a missing one is an error, elsewhere a
 * skip that says why (docs/decisions/0024-services-for-tests.md).
 */

const LONGEST_START_MS = 60_000;
const LONGEST_STOP_MS = 20_000;

export type ServiceName = keyof typeof SERVICES;

/** Only long runs use them. */
const OF_SOAK: readonly ServiceName[] = ["postgres16", "postgres17"];

const IS_REQUIRED = process.env.SALLYPORT_REQUIRE_SERVICES === "1";

/** Why a service cannot be tested with; undefined when it can. Throws where services are required. */
export function reasonToSkip(wanted: ServiceName): string | undefined {
  const name = chosen(wanted);
  if (isThere(name)) return undefined;
  const reason = `${name} is missing; node scripts/services.ts fetches it`;
  if (IS_REQUIRED) throw new Error(reason);
  return reason;
}

/** Test projects run with other major versions of PostgreSQL (vitest.config.ts). */
function chosen(name: ServiceName): ServiceName {
  const major = process.env.SALLYPORT_POSTGRES_MAJOR;
  const other = `postgres${major}`;
  if (name !== "postgres" || major === undefined) return name;
  if (!(other in SERVICES))
    throw new Error(`SALLYPORT_POSTGRES_MAJOR is ${major}, and there is no service ${other}`);
  return other as ServiceName;
}

/** A running service. */
export interface StartedService extends AsyncDisposable {
  readonly port: number;
  readonly data: string;
  /** Ends it at once, as a power cut would; its data stays. */
  kill(): Promise<void>;
  /** Starts it again on the same port and data. */
  restart(): Promise<void>;
}

/** Starts a service on a free port; resolves when it serves. */
export async function startService(
  wanted: ServiceName,
  options: ServiceOptions = {},
): Promise<StartedService> {
  const name = chosen(wanted);
  const { prepare }: Service = SERVICES[name];
  const data = mkdtempSync(join(tmpdir(), `sallyport-${name}-`));
  const port = await freePort();
  const command = prepare({ folder: folderOf(name), data, port, ...options });
  let server = await startServer(name, port, command);
  return {
    port,
    data,
    kill: () => server.kill(),
    restart: async () => {
      server = await startServer(name, port, command);
    },
    async [Symbol.asyncDispose]() {
      await server.stop();
      rmSync(data, { recursive: true, force: true });
    },
  };
}

async function startServer(
  name: ServiceName,
  port: number,
  { argv, uid, gid, endSignal = "SIGKILL", isUp }: ServerCommand,
) {
  const [program, ...args] = argv;
  // A group of its own, so that the processes it starts end with it.
  const child = spawn(program, args, {
    cwd: "/",
    stdio: ["ignore", "ignore", "pipe"],
    detached: true,
    ...(uid !== undefined && { uid, gid }),
  });
  const said = text(child.stderr);
  const ended = new Promise<void>(
    (resolve) => void child.once("close", () => resolve()).once("error", () => resolve()),
  );
  const isRunning = () => child.pid !== undefined && child.exitCode === null && child.signalCode === null;
  const kill = async () => {
    if (isRunning()) process.kill(-Number(child.pid), "SIGKILL");
    await ended;
  };
  const stop = async () => {
    const timer = setTimeout(() => void kill(), LONGEST_STOP_MS);
    if (isRunning()) child.kill(endSignal);
    await ended;
    clearTimeout(timer);
    await kill();
  };
  const serves = isUp ?? (() => accepts(port));
  const deadline = performance.now() + LONGEST_START_MS;
  while (child.exitCode === null && performance.now() < deadline) {
    if (await serves()) return { kill, stop };
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  await kill();
  throw new Error(`${name} did not start: ${(await said).slice(-2_000)}`);
}

function accepts(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connectSocket({ port, host: "127.0.0.1" });
    const answer = (yes: boolean) => {
      socket.destroy();
      resolve(yes);
    };
    socket.once("connect", () => answer(true)).once("error", () => answer(false));
  });
}

function isThere(name: ServiceName): boolean {
  return SERVICES[name].isIn(folderOf(name));
}

function folderOf(name: ServiceName): string {
  const cache = process.env.XDG_CACHE_HOME || join(homedir(), ".cache");
  const { variable, version } = SERVICES[name];
  return process.env[variable] ?? join(cache, "sallyport", "services", `${name}-${version}`);
}

/** Below the ports that the kernel gives to connections, so that a server that is restarted finds its port free. */
const PORTS = { from: 20_000, to: 29_999 };

/** A port whose successor is free too: Kafka needs two. */
async function freePort(): Promise<number> {
  for (let tries = 0; tries < 50; tries += 1) {
    const wanted = randomInt(PORTS.from, PORTS.to);
    const both = await Promise.allSettled([listenOn(wanted), listenOn(wanted + 1)]);
    for (const one of both) if (one.status === "fulfilled") await one.value();
    if (both.every(({ status }) => status === "fulfilled")) return wanted;
  }
  throw new Error("no two ports in a row are free");
}

/** Resolves with how to let go of the port; rejects when it is taken. */
async function listenOn(port: number): Promise<() => Promise<void>> {
  const server = createServer();
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject).listen(port, "127.0.0.1", resolve);
  });
  return () => new Promise((resolve) => void server.close(() => resolve()));
}

/** Fetches into a folder beside the cache first: what is in the cache is whole. */
function fetchService(name: ServiceName): boolean {
  const folder = folderOf(name);
  const partial = `${folder}.new-${process.pid}`;
  const before = process.cwd();
  const scratch = mkdtempSync(join(tmpdir(), "sallyport-fetch-"));
  console.log(`Fetching ${name} ${SERVICES[name].version}`);
  try {
    process.chdir(scratch);
    mkdirSync(partial, { recursive: true });
    SERVICES[name].fetch(partial);
    rmSync(folder, { recursive: true, force: true });
    renameSync(partial, folder);
    return true;
  } catch (error) {
    console.error(`${name} could not be fetched: ${error instanceof Error ? error.message : error}`);
    rmSync(partial, { recursive: true, force: true });
    return false;
  } finally {
    process.chdir(before);
    rmSync(scratch, { recursive: true, force: true });
  }
}

if (import.meta.main) {
  const missing = (Object.keys(SERVICES) as ServiceName[]).filter(
    (name) => !isThere(name) && (process.env.SALLYPORT_SOAK === "1" || !OF_SOAK.includes(name)),
  );
  process.exitCode = missing.map(fetchService).every(Boolean) ? 0 : 1;
}
