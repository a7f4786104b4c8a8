import { chmod, rm } from "node:fs/promises";
import { createServer, type Server, type Socket } from "node:net";
import { timerMs } from "@sallyport/engine/host";
import { failure, SallyportError } from "@sallyport/protocol";
import { exhausted } from "./denial.ts";
import { dialAddress } from "./dial.ts";
import { Gate, type Resolve } from "./gate.ts";
import { createHttpReader, openHttpDoor } from "./http-door.ts";
import { Interception } from "./interception.ts";
import { Lane } from "./lane.ts";
import { type EgressUsage, Meter } from "./meter.ts";
import { DEFAULT_EGRESS_LIMITS, type EgressOptions, lookUpAll } from "./options.ts";
import type { Parts } from "./parts.ts";
import { type RefusalCount, Refusals } from "./refusals.ts";
import { readRules } from "./rules.ts";
import { SandboxAuthority } from "./sandbox-authority.ts";
import { openSocksDoor } from "./socks-door.ts";
import { SOCKS_VERSION } from "./socks-wire.ts";
import { upstreamTls } from "./upstream.ts";

/** One sandbox's way to the network. */
export interface Egress {
  usage(): EgressUsage;
  /** What was refused, at most 64 kinds. */
  refusals(): RefusalCount[];
  /** PEM; present when a rule asks for interception. Only this sandbox may trust it. */
  readonly caCertificate?: string;
  /** Ends every connection at once and removes the socket. Safe to repeat. */
  close(): Promise<void>;
}

/** What sun_path holds, without its last NUL. */
const LONGEST_PATH = 107;
const SOCKET_MODE = 0o666;

/**
 * Opens an HTTP and SOCKS5 proxy on a unix socket. Rejects with SallyportError: E3104 for a rule that cannot be used,
 * E3101 when the socket cannot be made.
 */
export async function openEgress(options: EgressOptions): Promise<Egress> {
  const parts = await makeParts(options);
  openHttpDoor(parts);
  const clients = new Set<Socket>();
  const server = createServer({ allowHalfOpen: true, pauseOnConnect: true }, (socket) =>
    admitClient(parts, clients, socket),
  );
  // Beyond the limit a client is told so; far beyond it nobody is listened to.
  server.maxConnections = options.connections * 2 + 16;
  await listen(server, options);
  return {
    usage: () => parts.dialler.meter.usage(),
    refusals: () => parts.refusals.list(),
    ...(parts.interception && { caCertificate: parts.interception.caCertificate }),
    close: () => shut({ server, clients, parts }, options.socketPath),
  };
}

async function makeParts(options: EgressOptions): Promise<Parts> {
  const limits = { ...DEFAULT_EGRESS_LIMITS, ...options.limits };
  const rules = readRules(options.rules);
  const refusals = new Refusals(options.onRefused);
  const authority = await SandboxAuthority.forRules(rules, options.clock ?? { now: Date.now });
  const meter = new Meter(limits.bytes, () => {
    refusals.record(exhausted(undefined, `More than ${limits.bytes} bytes are not allowed.`));
    meter.cut();
  });
  return {
    limits,
    refusals,
    gate: new Gate(rules, within(limits.connectMs, options.resolve ?? lookUpAll)),
    dialler: { dial: options.dial ?? dialAddress, connectMs: limits.connectMs, meter },
    secrets: options.secrets,
    tls: upstreamTls(options.upstreamCa),
    interception: authority && new Interception(authority),
    connections: options.connections,
    http: createHttpReader(limits),
    lanes: new WeakMap(),
  };
}

function admitClient(parts: Parts, clients: Set<Socket>, socket: Socket): void {
  const lane = new Lane(socket, clients.size >= parts.connections);
  clients.add(socket);
  socket.once("close", () => clients.delete(socket));
  parts.lanes.set(socket, lane);
  lane.expectHead(parts.limits.headMs);
  socket.setTimeout(timerMs(parts.limits.idleMs), () => socket.destroy());
  readFirst(socket, (first) => {
    if (first === SOCKS_VERSION) {
      lane.inTurn(() => openSocksDoor(parts, lane));
      return;
    }
    parts.http.emit("connection", socket);
    socket.resume();
  });
}

/** Looks at the first byte and leaves it, and the socket paused. A client that ends without one is ended. */
function readFirst(socket: Socket, then: (first: number | undefined) => void): void {
  const giveUp = () => socket.destroy();
  socket.once("end", giveUp);
  socket.once("data", (bytes: Buffer) => {
    socket.off("end", giveUp).pause();
    socket.unshift(bytes);
    then(bytes[0]);
  });
  socket.resume();
}

async function listen(
  server: Server,
  { socketPath, socketMode = SOCKET_MODE }: EgressOptions,
): Promise<void> {
  if (Buffer.byteLength(socketPath) > LONGEST_PATH)
    throw unopened(`its path is longer than ${LONGEST_PATH} bytes`);
  await new Promise<void>((done, fail) => {
    // Accepting may fail later too (EMFILE): that client is lost, and the proxy goes on.
    server.on("error", (error) => fail(unopened(error.message, error)));
    server.listen(socketPath, done);
  });
  await chmod(socketPath, socketMode);
}

function unopened(why: string, cause?: unknown): SallyportError {
  const message = `The socket of the egress proxy could not be made: ${why}.`;
  const advice = "Use a short path in a fresh folder that this process may write to.";
  return new SallyportError(failure("E3101", { message, advice }), { cause });
}

interface Running {
  server: Server;
  clients: Set<Socket>;
  parts: Parts;
}

async function shut({ server, clients, parts }: Running, socketPath: string): Promise<void> {
  const closed = new Promise<void>((done) => server.close(() => done()));
  for (const socket of clients) socket.destroy();
  parts.dialler.meter.cut();
  await closed;
  await rm(socketPath, { force: true });
}

/** A resolver that is asked once and given up on in time. */
function within(connectMs: number, resolve: Resolve): Resolve {
  return async (host) => {
    const late = Promise.withResolvers<never>();
    const timer = setTimeout(
      () => late.reject(new Error("the resolver did not answer in time")),
      timerMs(connectMs),
    );
    try {
      return await Promise.race([resolve(host), late.promise]);
    } finally {
      clearTimeout(timer);
    }
  };
}
