import { randomBytes } from "node:crypto";
import type { EventEmitter } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Failure, failure, SallyportError } from "@sallyport/protocol";
import { processEnvironment } from "../config/environment.ts";
import { workerSecretOf } from "../gateway/gateway.ts";
import { type DomainPackage, readDomainPackage } from "../gateway/read-package.ts";
import { must } from "../must.ts";
import type { StartReport } from "../serve/start-report.ts";
import { listenForSignals } from "../serve/stop-signal.ts";
import { hasTerminal } from "../serve/terminal.ts";
import { addressOf, type PlannedProcess, planProcesses } from "./dev-file.ts";
import { KeptProcess, LocalProcess } from "./local-process.ts";

/** Everything runs. */
export interface DevReport {
  url: string;
  domain: { id: string; version: string };
  /** A call to paste; null when there is none. */
  curl: string | null;
  gateway: { pid: number | undefined };
  processes: { name: string; url: string; pid: number | undefined; baseUrl: string | null }[];
}

export interface DevOptions {
  /** Folder of the domain package. */
  folder: string;
  /** Words for `sallyport gateway` besides domain and state folder. */
  gatewayWords: readonly string[];
  /** Hears each line of each process. */
  tell(name: string, line: string): void;
  /** Told once, when all of it runs. */
  onOpen(report: DevReport): void;
  signals?: EventEmitter;
}

const GATEWAY = "gateway";
/** Longer than the gateway lets runs finish when it is told to stop. */
const GATEWAY_GRACE_MS = 45_000;

/**
 * Runs a domain's processes and a gateway for them on this machine, until it is told to stop; resolves when all of them are
 * gone. Throws, and leaves nothing running, when one of them cannot be started or the gateway ends.
 */
export async function runDev(options: DevOptions): Promise<void> {
  const { folder, signals = process } = options;
  const { DOMAIN_ID: expectedId } = processEnvironment();
  const domain = must(readDomainPackage(folder, { expectedId }));
  const planned = await planProcesses(domain);
  const secret = workerSecretOf(processEnvironment()) ?? randomBytes(32).toString("base64url");
  const state = mkdtempSync(join(tmpdir(), "sallyport-dev-"));
  const running: Topology = { workers: new Map(), gateway: undefined, isClosing: false };
  const stopping = listenForSignals(signals, {
    onReload: () => running.gateway?.signal("SIGHUP"),
    hasTerminal,
  });
  void stopping.second.then(() => kill(running));
  try {
    const opened = open({ ...options, domain, planned, state, secret }, running);
    const how = await Promise.race([
      opened.then((gateway) => gateway.ended),
      stopping.first.then(() => undefined),
    ]);
    if (how !== undefined) throw cannotRun(GATEWAY, how);
  } finally {
    running.isClosing = true;
    await close(running);
    stopping.done();
    rmSync(state, { recursive: true, force: true });
  }
}

interface Topology {
  workers: Map<string, KeptProcess>;
  gateway: LocalProcess | undefined;
  /** Nothing more may be started. */
  isClosing: boolean;
}

interface Plan extends DevOptions {
  domain: DomainPackage;
  planned: readonly PlannedProcess[];
  state: string;
  /** What the workers know this gateway by. */
  secret: string;
}

/** Workers first, so that the first call finds them. */
async function open(plan: Plan, running: Topology): Promise<LocalProcess> {
  const { planned, tell, secret } = plan;
  for (const one of planned) {
    const { name, port, command, folder, env, baseUrl } = one;
    const own = { PORT: String(port), ...(baseUrl !== undefined && { WORKER_SECRET: secret }) };
    const order = {
      ...{ command, folder, env: { ...env, ...own } },
      onLine: (line: string) => tell(name, line),
    };
    running.workers.set(name, new KeptProcess({ name, port, order, say: (text) => tell(name, text) }));
  }
  await Promise.all(
    [...running.workers].map(async ([name, worker]) => {
      const trouble = await worker.open();
      if (trouble !== undefined) throw cannotRun(name, trouble);
    }),
  );
  return await openGateway(plan, running);
}

async function openGateway(plan: Plan, running: Topology): Promise<LocalProcess> {
  const { domain, planned, state, secret, gatewayWords, tell, onOpen } = plan;
  if (running.isClosing) throw cannotRun(GATEWAY, "was not started");
  const [, script = ""] = process.argv;
  const addresses = planned.flatMap((one) =>
    one.baseUrl === undefined ? [] : [[one.baseUrl, addressOf(one)] as const],
  );
  let said = "";
  const report = Promise.withResolvers<StartReport>();
  const gateway = new LocalProcess({
    command: [
      ...([process.execPath, script, "gateway", "--domain", domain.folder, "--json"] as const),
      ...["--state-dir", state, ...gatewayWords],
    ],
    // Without a configuration file by accident: one in this folder would be another server's.
    folder: state,
    env: {
      WORKER_ADDRESSES: JSON.stringify(Object.fromEntries(addresses)),
      WORKER_SECRET: secret,
      SALLYPORT__LOG__FORMAT: "text",
    },
    onLine: (line, from) => {
      if (from === "stderr") return tell(GATEWAY, line);
      said += line;
      if (line === "}") settle(JSON.parse(said), report);
    },
  });
  running.gateway = gateway;
  const opened = await Promise.race([report.promise, gateway.ended]);
  if (typeof opened === "string") throw cannotRun(GATEWAY, opened, said);
  const { url, curl, warnings } = opened;
  for (const { message } of warnings) tell(GATEWAY, message);
  const processes = planned.map((one) => ({
    ...{ name: one.name, url: addressOf(one), pid: running.workers.get(one.name)?.id },
    baseUrl: one.baseUrl ?? null,
  }));
  onOpen({
    url,
    curl,
    domain: { id: domain.id, version: domain.version },
    gateway: { pid: gateway.id },
    processes,
  });
  return gateway;
}

/** The one document that a gateway prints says where it listens, or why it does not. */
function settle(
  document: StartReport | { status: "error"; error: Failure },
  report: PromiseWithResolvers<StartReport>,
): void {
  if ("url" in document) report.resolve(document);
  else report.reject(new SallyportError(document.error));
}

function cannotRun(name: string, how: string, said = ""): SallyportError {
  const advice = "The lines that it printed say why; correct it, and start again.";
  return new SallyportError(failure("E3921", { message: `${name} ${how}. ${said}`.trim(), advice }));
}

/** The gateway first, so that its runs can finish. */
async function close({ gateway, workers }: Topology): Promise<void> {
  await gateway?.stop(GATEWAY_GRACE_MS);
  await Promise.all([...workers.values()].map((worker) => worker.stop()));
}

function kill({ gateway, workers }: Topology): void {
  gateway?.signal("SIGKILL");
  for (const worker of workers.values()) worker.kill();
}
