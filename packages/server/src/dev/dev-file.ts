import { once } from "node:events";
import { createServer } from "node:net";
import { resolve } from "node:path";
import {
  absentOr,
  decode,
  described,
  exactRecord,
  failure,
  type Infer,
  type Issue,
  listOf,
  mapOf,
  matching,
  nearestName,
  SallyportError,
  textUpTo,
} from "@sallyport/protocol";
import { type PackageFile, PackageFiles } from "../gateway/package-files.ts";
import type { DomainPackage } from "../gateway/read-package.ts";
import { probedWorker } from "../gateway/tool-manifest.ts";

const DEV = "dev.yaml";

const localText = textUpTo(4_096);
const processField = exactRecord({
  command: described(listOf(localText), "Program and arguments, started without a shell."),
  base_url: absentOr(localText, "The worker's address in the manifest; a process without one is no worker."),
  folder: absentOr(localText, "Where it is started, relative to the package; the package when left out."),
  env: absentOr(mapOf(localText), `Its variables. \${NAME} is the address of the process of that name.`),
});
const devFileField = exactRecord({ processes: mapOf(processField) });
type Processes = Infer<typeof devFileField>["processes"];
const nameField = matching(/^[a-z][a-z0-9-]{0,62}$/, "a name of small letters, digits and -");

/** A process of `dev.yaml`, with the port that it gets here. */
export interface PlannedProcess {
  name: string;
  command: readonly [string, ...string[]];
  folder: string;
  /** Besides PORT. */
  env: Readonly<Record<string, string>>;
  port: number;
  /** Where the manifest has it; undefined for one that is no worker. */
  baseUrl: string | undefined;
}

/** Address of a process on this machine. */
export function addressOf({ port }: Pick<PlannedProcess, "port">): string {
  return `http://127.0.0.1:${port}`;
}

/** Reads how the workers of a package are started here; each gets a free port. Throws E3919 with every fault of the file. */
export async function planProcesses(domain: DomainPackage): Promise<PlannedProcess[]> {
  const { file, processes } = readDevFile(domain);
  const issues = faultsOf(processes, domain).map(({ path, ...said }) => ({
    path: placeIn(file, path),
    ...said,
  }));
  if (issues.length > 0) throw wrongDevFile(issues);
  const names = Object.keys(processes);
  const ports = await freePorts(names.length);
  const portOf = new Map(names.map((name, index) => [name, ports[index] ?? 0]));
  return Object.entries(processes).map(([name, { command, base_url: baseUrl, folder = ".", env = {} }]) => {
    const [program = "", ...args] = command;
    const filled = Object.entries(env).map(([key, text]) => [key, fillIn(text, portOf)] as const);
    return {
      name,
      command: [program, ...args],
      folder: resolve(domain.folder, folder),
      env: Object.fromEntries(filled),
      port: portOf.get(name) ?? 0,
      baseUrl,
    };
  });
}

function readDevFile({ folder }: DomainPackage): { file: PackageFile; processes: Processes } {
  const file = new PackageFiles(folder).read(DEV);
  if ("issues" in file) throw wrongDevFile(file.issues);
  if ("unusable" in file) {
    const suggestion = `Write one: it says with which command each worker is started here.`;
    throw wrongDevFile([{ path: DEV, suggestion, ...file.unusable }]);
  }
  const read = decode(file.yaml.value, devFileField);
  if (read.ok) return { file, processes: read.request.processes };
  const issues = read.failure.issues ?? [];
  throw wrongDevFile(
    issues.map(({ path, ...said }) => ({ path: placeIn(file, path.split("/").slice(1)), ...said })),
  );
}

function wrongDevFile(issues: readonly Issue[]): SallyportError {
  const message = `The file ${DEV} of the domain package is wrong.`;
  const advice = "Correct each place; docs/operate/gateway.md describes the file.";
  return new SallyportError(failure("E3919", { message, advice, issues: [...issues] }));
}

function placeIn({ name, yaml }: PackageFile, path: readonly string[]): string {
  const { line, column } = yaml.find(path);
  return `${name}:${line}:${column}`;
}

interface Fault extends Omit<Issue, "path"> {
  path: readonly string[];
}

function faultsOf(processes: Processes, { tools }: DomainPackage): Fault[] {
  const names = Object.keys(processes);
  const addresses = tools.flatMap((tool) => probedWorker(tool)?.baseUrl ?? []);
  const seen = new Set<string>();
  return Object.entries(processes).flatMap(([name, { command, base_url: baseUrl, env = {} }]) => {
    const faults: Fault[] = [];
    const at = (...steps: string[]) => ["processes", name, ...steps];
    if (!nameField(name, "", [])) faults.push({ path: at(), reason: `"${name}" is no ${nameWords}` });
    if (command.length === 0) faults.push({ path: at("command"), reason: "command names no program" });
    if (baseUrl !== undefined && !addresses.includes(plainAddress(baseUrl)))
      faults.push({
        path: at("base_url"),
        reason: `no tool of the manifest has its worker at "${baseUrl}"`,
        suggestion: `There: ${addresses.join(", ")}.`,
      });
    if (baseUrl !== undefined && seen.has(baseUrl))
      faults.push({ path: at("base_url"), reason: `"${baseUrl}" is another process already` });
    if (baseUrl !== undefined) seen.add(baseUrl);
    for (const [key, text] of Object.entries(env))
      for (const [, other = ""] of text.matchAll(NAMED)) {
        if (names.includes(other)) continue;
        const near = nearestName(other, names);
        faults.push({
          path: at("env", key),
          reason: `there is no process "${other}"`,
          ...(near !== undefined && { suggestion: `Did you mean "${near}"?` }),
        });
      }
    return faults;
  });
}

const nameWords = "name of small letters, digits and -";
const NAMED = /\$\{([^}]*)\}/g;

function plainAddress(text: string): string {
  return URL.canParse(text) ? new URL(text).href.replace(/\/+$/, "") : text;
}

function fillIn(text: string, portOf: ReadonlyMap<string, number>): string {
  return text.replaceAll(NAMED, (_, name: string) => addressOf({ port: portOf.get(name) ?? 0 }));
}

/** Ports that are free now. Another program can take one before its process does, which then says so. */
async function freePorts(count: number): Promise<number[]> {
  const servers = Array.from({ length: count }, () => createServer().listen(0, "127.0.0.1"));
  const ports: number[] = [];
  for (const server of servers) {
    if (!server.listening) await once(server, "listening");
    const address = server.address();
    ports.push(typeof address === "object" && address ? address.port : 0);
  }
  await Promise.all(servers.map((server) => new Promise((done) => server.close(done))));
  return ports;
}
