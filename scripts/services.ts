import { spawn, spawnSync } from "node:child_process";
import { randomInt } from "node:crypto";
import {
  accessSync,
  chownSync,
  constants,
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { connect as connectSocket, createServer } from "node:net";
import { homedir, tmpdir } from "node:os";
import { delimiter, join } from "node:path";
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
  /** A variable that names another folder to use instead of the one in the cache. */
  variable: string;
  /** Whether the service can be started from this folder. */
  isIn(folder: string): boolean;
  /** Puts the service into the folder; throws when it cannot. */
  fetch(folder: string): void;
  /** How it is started; `data` is an empty folder of its own. */
  prepare(at: { folder: string; data: string; port: number } & ServiceOptions): ServerCommand;
}

/** How a service is started for one test file or benchmark. */
export interface ServiceOptions {
  /** A folder with files that it reads. */
  given?: string;
  /** What it acknowledges survives a power cut. Left out: only a killed process, which is faster. */
  synced?: boolean;
}

interface ServerCommand {
  argv: [string, ...string[]];
  uid?: number;
  gid?: number;
  /** Whether it serves now; left out: it does when its port accepts connections. */
  isUp?(): Promise<boolean>;
}

const OPA_VERSION = "v1.22.0";
const KAFKA_VERSION = "4.1.1";
const PGVECTOR_VERSION = "v0.8.1";
const VERSITYGW_VERSION = "v1.8.0";
/** How tests reach versitygw, an S3-compatible server with its objects in files. */
export const S3_ACCESS = {
  region: "us-east-1",
  bucket: "sallyport-test",
  accessKeyId: "test-access-key",
  secretAccessKey: "test-secret-key",
};
/** Debian's packages put every major version into a folder of its own. */
const POSTGRES_ROOT = "/usr/lib/postgresql";

const SERVICES = {
  opa: {
    version: OPA_VERSION,
    variable: "SALLYPORT_OPA",
    isIn: (folder) => isExecutable(join(folder, "opa")),
    // Without C nothing but Go is needed. A Go that is too old gets the one it needs by itself (from Go 1.21 on).
    fetch: (folder) =>
      run(["go", "install", "-ldflags=-s -w", `github.com/open-policy-agent/opa@${OPA_VERSION}`], {
        env: { GOBIN: folder, CGO_ENABLED: "0", GOTOOLCHAIN: "auto" },
      }),
    prepare: ({ folder, port, given = "" }) => ({
      argv: [
        join(folder, "opa"),
        ...["run", "--server", "--addr", `127.0.0.1:${port}`, "--log-level", "error", "--skip-version-check"],
        given,
      ],
      isUp: () =>
        fetch(`http://127.0.0.1:${port}/health`).then(
          ({ ok }) => ok,
          () => false,
        ),
    }),
  },
  kafka: {
    version: KAFKA_VERSION,
    variable: "SALLYPORT_KAFKA",
    isIn: (folder) => isReadable(join(folder, `kafka_2.13-${KAFKA_VERSION}.jar`)),
    fetch: (folder) => {
      writeFileSync("pom.xml", KAFKA_POM);
      run([
        "mvn",
        "-q",
        "-B",
        "dependency:copy-dependencies",
        "-DincludeScope=runtime",
        `-DoutputDirectory=${folder}`,
      ]);
    },
    prepare: ({ folder, data, port }) => {
      const java = ["java", "-Xmx384m", "-XX:TieredStopAtLevel=1", "-cp", join(folder, "*")] as const;
      const settings = join(data, "server.properties");
      writeFileSync(settings, kafkaSettings(port, join(data, "log")));
      run([...java, "kafka.tools.StorageTool", "format", "-t", "MkU3OEVBNTcwNTJENDM2Qk", "-c", settings], {
        quiet: true,
      });
      return { argv: [...java, "kafka.Kafka", settings] };
    },
  },
  versitygw: {
    version: VERSITYGW_VERSION,
    variable: "SALLYPORT_VERSITYGW",
    isIn: (folder) => isExecutable(join(folder, "versitygw")),
    // Not optimised: that halves the time of building, and tests wait for other things.
    fetch: (folder) =>
      run(
        [
          "go",
          "install",
          "-ldflags=-s -w",
          "-gcflags=github.com/...=-N -l",
          `github.com/versity/versitygw/cmd/versitygw@${VERSITYGW_VERSION}`,
        ],
        { env: { GOBIN: folder, CGO_ENABLED: "0", GOTOOLCHAIN: "auto" } },
      ),
    prepare: ({ folder, data, port }) => {
      const [objects, metadata, accounts] = [
        join(data, "objects"),
        join(data, "metadata"),
        join(data, "iam"),
      ];
      for (const path of [join(objects, S3_ACCESS.bucket), metadata, accounts])
        mkdirSync(path, { recursive: true });
      const { accessKeyId, secretAccessKey } = S3_ACCESS;
      const access = ["--access", accessKeyId, "--secret", secretAccessKey, "--region", S3_ACCESS.region];
      const listen = ["--port", `127.0.0.1:${port}`, "--health", "/health", "--quiet", "--iam-dir", accounts];
      return {
        argv: [join(folder, "versitygw"), ...access, ...listen, "posix", "--sidecar", metadata, objects],
        isUp: () =>
          fetch(`http://127.0.0.1:${port}/health`).then(
            ({ ok }) => ok,
            () => false,
          ),
      };
    },
  },
  postgres: {
    version: `pgvector-${PGVECTOR_VERSION}`,
    variable: "SALLYPORT_POSTGRES",
    isIn: () =>
      postgresBin() !== undefined && isReadable(join(pgConfig("--sharedir"), "extension/vector.control")),
    // The server itself is Debian's; the extension is built from its source, which the Go module proxy has with a checksum.
    fetch: (folder) => {
      const module = `github.com/pgvector/pgvector@${PGVECTOR_VERSION}`;
      const { Dir } = JSON.parse(output(["go", "mod", "download", "-json", module])) as { Dir: string };
      cpSync(Dir, folder, { recursive: true });
      run(["chmod", "-R", "u+w", folder]);
      const make = [
        "make",
        "-s",
        "-C",
        folder,
        "OPTFLAGS=",
        "with_llvm=no",
        `PG_CONFIG=${pgConfigProgram()}`,
      ] as const;
      run([...make]);
      run([...make, "install"]);
    },
    prepare: ({ data, port, synced = false }) => {
      // PostgreSQL refuses to run as root.
      const user: { uid?: number; gid?: number } = process.getuid?.() === 0 ? userIds("postgres") : {};
      if (user.uid !== undefined && user.gid !== undefined) chownSync(data, user.uid, user.gid);
      const bin = postgresBin() ?? "";
      const init = [
        "-D",
        join(data, "db"),
        "-U",
        "sallyport",
        "-A",
        "trust",
        "-E",
        "UTF8",
        "--no-locale",
        "--no-sync",
      ];
      run([join(bin, "initdb"), ...init], { quiet: true, cwd: data, ...user });
      const settings = Object.entries({
        ...POSTGRES_SETTINGS,
        ...(!synced && POSTGRES_UNSYNCED),
      }).flatMap(([name, value]) => ["-c", `${name}=${value}`]);
      return {
        argv: [join(bin, "postgres"), "-D", join(data, "db"), "-p", String(port), "-k", data, ...settings],
        ...user,
        isUp: async () =>
          spawnSync(join(bin, "pg_isready"), ["-q", "-h", "127.0.0.1", "-p", String(port)]).status === 0,
      };
    },
  },
  redis: {
    version: "debian",
    variable: "SALLYPORT_REDIS",
    isIn: (folder) => redisServer(folder) !== undefined,
    fetch: () => {
      throw new Error("install Debian's package redis-server");
    },
    // With an append-only file either way; by default it is synced once a second.
    prepare: ({ folder, data, port, synced = false }) => ({
      argv: [
        redisServer(folder) ?? "",
        ...["--bind", "127.0.0.1", "--port", String(port), "--dir", data, "--save", ""],
        ...["--appendonly", "yes", "--appendfsync", synced ? "always" : "everysec"],
      ],
    }),
  },
} satisfies Record<string, Service>;

const POSTGRES_SETTINGS = {
  listen_addresses: "127.0.0.1",
  max_connections: 200,
  shared_buffers: "64MB",
  wal_level: "logical",
};

/** A test kills processes, never the machine: nothing is lost without syncing. Benchmarks sync. */
const POSTGRES_UNSYNCED = { fsync: "off", full_page_writes: "off" };

const KAFKA_POM = `<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>sallyport.test</groupId><artifactId>kafka</artifactId><version>1</version>
  <dependencies><dependency>
    <groupId>org.apache.kafka</groupId><artifactId>kafka_2.13</artifactId><version>${KAFKA_VERSION}</version>
  </dependency></dependencies>
</project>
`;

/** One node that is broker and controller (KRaft); topics are made by whoever wants them. */
function kafkaSettings(port: number, log: string): string {
  const controller = port + 1;
  return `process.roles=broker,controller
node.id=1
controller.quorum.voters=1@127.0.0.1:${controller}
listeners=PLAINTEXT://127.0.0.1:${port},CONTROLLER://127.0.0.1:${controller}
advertised.listeners=PLAINTEXT://127.0.0.1:${port}
controller.listener.names=CONTROLLER
listener.security.protocol.map=PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT
log.dirs=${log}
offsets.topic.replication.factor=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
auto.create.topics.enable=false
group.initial.rebalance.delay.ms=0
`;
}

export type ServiceName = keyof typeof SERVICES;

const IS_REQUIRED = process.env.SALLYPORT_REQUIRE_SERVICES === "1";

/** Why a service cannot be tested with; undefined when it can. Throws where services are required. */
export function reasonToSkip(name: ServiceName): string | undefined {
  if (isThere(name)) return undefined;
  const reason = `${name} is missing; node scripts/services.ts fetches it`;
  if (IS_REQUIRED) throw new Error(reason);
  return reason;
}

/** A running service. */
export interface StartedService extends AsyncDisposable {
  readonly port: number;
  /** Ends it at once, as a power cut would; its data stays. */
  kill(): Promise<void>;
  /** Starts it again on the same port and data. */
  restart(): Promise<void>;
}

/** Starts a service on a free port; resolves when it serves. */
export async function startService(name: ServiceName, options: ServiceOptions = {}): Promise<StartedService> {
  const { prepare }: Service = SERVICES[name];
  const data = mkdtempSync(join(tmpdir(), `sallyport-${name}-`));
  const port = await freePort();
  const command = prepare({ folder: folderOf(name), data, port, ...options });
  let server = await startServer(name, port, command);
  return {
    port,
    kill: () => server.kill(),
    restart: async () => {
      server = await startServer(name, port, command);
    },
    async [Symbol.asyncDispose]() {
      await server.kill();
      rmSync(data, { recursive: true, force: true });
    },
  };
}

async function startServer(name: ServiceName, port: number, { argv, uid, gid, isUp }: ServerCommand) {
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
  const kill = async () => {
    if (child.pid !== undefined && child.exitCode === null && child.signalCode === null)
      process.kill(-child.pid, "SIGKILL");
    await ended;
  };
  const serves = isUp ?? (() => accepts(port));
  const deadline = performance.now() + LONGEST_START_MS;
  while (child.exitCode === null && performance.now() < deadline) {
    if (await serves()) return { kill };
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

/** The programs of the newest PostgreSQL on this machine. */
function postgresBin(): string | undefined {
  const majors = isReadable(POSTGRES_ROOT) ? readdirSync(POSTGRES_ROOT) : [];
  const bins = majors
    .toSorted((a, b) => Number(b) - Number(a))
    .map((major) => join(POSTGRES_ROOT, major, "bin"));
  return bins.find((bin) => isExecutable(join(bin, "initdb")));
}

/** Beside other builds in their folder, or on the path. */
function redisServer(folder: string): string | undefined {
  const folders = [folder, ...(process.env.PATH ?? "").split(delimiter)];
  return folders.map((each) => join(each, "redis-server")).find((file) => isExecutable(file));
}

function pgConfigProgram(): string {
  return join(postgresBin() ?? "", "pg_config");
}

function pgConfig(option: string): string {
  return isExecutable(pgConfigProgram()) ? output([pgConfigProgram(), option]).trim() : "/nonexistent";
}

function userIds(name: string): { uid: number; gid: number } {
  return { uid: Number(output(["id", "-u", name])), gid: Number(output(["id", "-g", name])) };
}

function isExecutable(file: string): boolean {
  return isReadable(file, constants.X_OK);
}

function isReadable(file: string, mode = constants.R_OK): boolean {
  try {
    accessSync(file, mode);
    return true;
  } catch {
    return false;
  }
}

interface RunOptions {
  env?: Record<string, string>;
  cwd?: string;
  uid?: number;
  gid?: number;
  quiet?: boolean;
}

function run(argv: readonly [string, ...string[]], { env, quiet, ...options }: RunOptions = {}): void {
  const [command, ...args] = argv;
  const { status, error, stderr } = spawnSync(command, args, {
    ...options,
    stdio: ["ignore", quiet ? "ignore" : "inherit", quiet ? "pipe" : "inherit"],
    env: { ...process.env, ...env },
    timeout: LONGEST_FETCH_MS,
  });
  if (status !== 0)
    throw new Error(`${argv.join(" ")}: ${error?.message ?? `exit code ${status}`} ${stderr ?? ""}`);
}

function output([command, ...args]: readonly [string, ...string[]]): string {
  const { stdout, error } = spawnSync(command, args, { encoding: "utf8", timeout: LONGEST_FETCH_MS });
  if (error) throw error;
  return stdout;
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
  const missing = (Object.keys(SERVICES) as ServiceName[]).filter((name) => !isThere(name));
  process.exitCode = missing.map(fetchService).every(Boolean) ? 0 : 1;
}
