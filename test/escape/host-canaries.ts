import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { createSocket } from "node:dgram";
import { once } from "node:events";
import { closeSync, openSync, readFileSync, writeSync } from "node:fs";
import { chmod, chown, mkdir, writeFile } from "node:fs/promises";
import { type AddressInfo, createServer, type Server, type Socket } from "node:net";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as delay } from "node:timers/promises";

/** What lives on the host and must not notice anything. */
export interface HostCanaries {
  tcp: number;
  udp: number;
  unix: string;
  abstract: string;
  hiddenSocket: string;
  socketsFolder: string;
  pid: number;
  sharedMemory: string;
  /** Whoever came to one of the servers. */
  readonly visits: string[];
  /** How the canary process fares; undefined when as it should. */
  processTrouble(): string | undefined;
  close(): Promise<void>;
}

export interface CanaryOrder {
  folder: string;
  programs: string;
  token: string;
  secret: string;
  user: { uid: number; gid: number };
}

const GREETING = "CANARY-GREETING: you are on the host\n";
/** A name of the abstract kind, which is bound to no file. */
const NUL = "\0";

export async function startCanaries(order: CanaryOrder): Promise<HostCanaries> {
  const visits: string[] = [];
  const servers: Server[] = [];
  const listen = async (place: { port: number; host: string } | { path: string }): Promise<Server> => {
    const server = createServer((socket) => greet(socket, visits, JSON.stringify(place)));
    servers.push(server);
    await once(server.listen({ ...place }), "listening");
    return server;
  };
  const socketsFolder = join(order.folder, "sockets");
  await mkdir(socketsFolder);
  await chmod(socketsFolder, 0o777);
  const [unix, hiddenSocket] = [join(order.folder, "host.sock"), join(socketsFolder, "agent.sock")];
  const abstract = `sallyport-escape-${process.pid}`;
  const seen = ["stream.sock", "private.sock"].map((name) => join(socketsFolder, name));
  const later = listenAnew(join(socketsFolder, "later.sock"), (socket) =>
    greet(socket, visits, "later.sock"),
  );
  const fifos = openFifos(socketsFolder);
  const tcp = await listen({ port: 0, host: "::" });
  for (const path of [unix, hiddenSocket, ...seen, `${NUL}${abstract}`]) await listen({ path });
  for (const path of [unix, hiddenSocket, ...seen]) await chmod(path, 0o777);
  // As sockets of one user usually are; a sandbox of the same user is that user.
  const [, own = ""] = seen;
  await chmod(own, 0o600);
  if (process.getuid?.() === 0) await chown(own, order.user.uid, order.user.gid);
  const udp = createSocket("udp6", (_, from) => {
    visits.push(`udp from ${from.address}`);
    udp.send(GREETING, from.port, from.address);
  });
  udp.bind(0);
  await once(udp, "listening");
  await writeFile(SHARED_FILE, order.token, { mode: 0o666 });
  const canary = startProcess(order);
  const sharedMemory = await ready(canary);
  return {
    ...{ tcp: (tcp.address() as AddressInfo).port, udp: udp.address().port, visits },
    ...{ unix, abstract, hiddenSocket, socketsFolder, pid: canary.pid ?? 0, sharedMemory },
    processTrouble: () => troubleOf(canary),
    close: async () => {
      canary.stdin?.end();
      if (canary.exitCode === null && canary.signalCode === null) await once(canary, "exit");
      udp.close();
      for (const server of servers) server.close();
      await later();
      for (const fd of fifos) closeSync(fd);
    },
  };
}

/** Where programs on the host share memory by name. */
export const SHARED_FILE = `/dev/shm/sallyport-escape-canary-${process.pid}`;

/** A socket that is made again and again at one path. Returns what ends it. */
function listenAnew(path: string, onConnection: (socket: Socket) => void): () => Promise<void> {
  let isWanted = true;
  const live = async (): Promise<void> => {
    while (isWanted) {
      const server = createServer(onConnection);
      await once(server.listen({ path, readableAll: true, writableAll: true }), "listening");
      await delay(100);
      server.close();
    }
  };
  const life = live();
  return () => {
    isWanted = false;
    return life;
  };
}

/** One that the host reads and one in which its greeting waits: opened for both, neither waits for the other side. */
function openFifos(folder: string): number[] {
  const [read = "", written = ""] = ["read-by-host", "written-by-host"].map((name) => join(folder, name));
  execFileSync("mkfifo", ["-m", "0666", read, written]);
  const descriptors = [read, written].map((path) => openSync(path, "r+"));
  writeSync(descriptors[1] ?? -1, GREETING);
  return descriptors;
}

function greet(socket: Socket, visits: string[], place: string): void {
  visits.push(`a connection to ${place}`);
  socket.on("error", () => socket.destroy());
  socket.end(GREETING);
}

/** As the sandbox's own user, so that only the sandbox stands between them. */
function startProcess({ programs, token, secret, user }: CanaryOrder): ChildProcess {
  return spawn(join(programs, "attack"), ["stand_as_canary", token], {
    env: { X_SECRET: secret, X_TOKEN: token },
    stdio: ["pipe", "pipe", "inherit"],
    ...(process.getuid?.() === 0 && user),
  });
}

async function ready(canary: ChildProcess): Promise<string> {
  if (!canary.stdout) throw new Error("the canary has no stdout");
  for await (const line of createInterface({ input: canary.stdout })) {
    const [word, segment] = line.split(" ");
    if (word === "READY" && segment !== undefined) return segment;
  }
  throw new Error("the canary did not start");
}

function troubleOf(canary: ChildProcess): string | undefined {
  if (canary.exitCode !== null || canary.signalCode !== null)
    return `the canary process ended: ${canary.exitCode ?? canary.signalCode}`;
  const state = /^State:\s+(\S)/m.exec(readFileSync(`/proc/${canary.pid}/status`, "utf8"))?.[1];
  return state === "S" || state === "R" ? undefined : `the canary process is in state ${state}`;
}
