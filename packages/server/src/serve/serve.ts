import { randomUUID } from "node:crypto";
import type { EventEmitter } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import type { Drained } from "@sallyport/engine/host";
import type { ErrorReport } from "@sallyport/engine/ports";
import { type Failure, isFailure, SallyportError } from "@sallyport/protocol";
import type { Logger } from "pino";
import { processEnvironment } from "../config/environment.ts";
import type { LoadedConfig } from "../config/load.ts";
import { type OpenDesk, openDesk } from "../desk/index.ts";
import { type HttpOptions, openHttp } from "../http/compose-http.ts";
import type { PolicyFiles, Reloaded } from "../policy/policy-files.ts";
import { type ReloadReport, reloadRuntime } from "../reload/reload-runtime.ts";
import { auditArchiveOf } from "../runtime/audit-archive.ts";
import { type Door, openRuntime, type Runtime } from "../runtime/runtime.ts";
import { openTelemetry, watchArchive, watchSinks, watchWorkers } from "../telemetry/index.ts";
import { VERSION } from "../version.ts";
import { type StartReport, startReport } from "./start-report.ts";
import { listenForSignals, type StopSignals } from "./stop-signal.ts";
import { hasTerminal } from "./terminal.ts";

export interface ServeOptions {
  config: LoadedConfig;
  log: Logger;
  /** Told once, when the door is open. */
  onOpen(report: StartReport): void;
  /** Where SIGTERM, SIGINT and SIGHUP come from; the process when left out. */
  signals?: EventEmitter;
}

/**
 * Opens a server and its HTTP door and keeps them open until it is told to stop; resolves when everything is closed and
 * on record. Rejects with a code, and leaves nothing open, when it cannot be opened.
 */
export async function serve(options: ServeOptions): Promise<void> {
  const { config, log, onOpen, signals = process } = options;
  const opened: { runtime?: Runtime } = {};
  const stopping = listenForSignals(signals, {
    onReload: () => void tellReload(opened.runtime, log),
    hasTerminal,
  });
  const instance = randomUUID();
  const telemetry = openTelemetry(processEnvironment(), {
    instance,
    version: VERSION,
    warn: (message) => log.warn({}, message),
  });
  try {
    const { meter, tracer } = telemetry;
    const runtime = await openRuntime({
      config,
      meter,
      instance,
      ...(tracer && { tracer }),
      errors: { report: (report) => tellError(report, log) },
    });
    try {
      watchSinks(meter, () => runtime.sinks());
      const archive = auditArchiveOf(runtime);
      if (archive) watchArchive(meter, () => archive.state());
      const { gateway } = runtime.live;
      if (gateway) watchWorkers(meter, () => gateway.workers());
      const door = await openDoor(runtime, { log, telemetry });
      opened.runtime = runtime;
      await whileOpen({ runtime, door, stopping, log }, onOpen);
    } finally {
      await closeAll(runtime, { stopping, log });
    }
    log.info({}, "Everything is closed");
  } finally {
    await telemetry.close();
    stopping.done();
  }
}

/** What still closes after the second signal has so long; then the process ends without it. */
const LAST_MS = 3_000;

async function closeAll(
  runtime: Runtime,
  { stopping, log }: Pick<Serving, "stopping" | "log">,
): Promise<void> {
  const cut = new AbortController();
  const told = stopping.second
    .then(() => cut.abort())
    .then(() => sleep(LAST_MS, "late" as const, { ref: false }));
  const waiting = await Promise.race([runtime.close(cut.signal), told]);
  if (waiting === "late") log.warn({}, "Ending before everything is closed, as told");
  else if (waiting !== undefined) log.warn({ waiting }, "Events wait in the outbox");
}

/** A used address gets advice: whoever starts the server can fix it at once. */
async function openDoor(runtime: Runtime, options: HttpOptions): Promise<Door> {
  try {
    return await openHttp(runtime, options);
  } catch (error) {
    if (!(error instanceof SallyportError) || error.failure.code !== "E3943") throw error;
    const { port } = runtime.config.http;
    const advice = `Stop what uses it, or choose another: --port ${port < LAST_PORT ? port + 1 : 0} (--port 0 takes any free one; --host for the address; http.port and http.host in the file).`;
    throw new SallyportError({ ...error.failure, advice }, { cause: error });
  }
}

const LAST_PORT = 65_535;

interface Serving {
  runtime: Runtime;
  door: Door;
  stopping: StopSignals;
  log: Logger;
}

async function whileOpen(serving: Serving, onOpen: ServeOptions["onOpen"]): Promise<void> {
  const { runtime, door, stopping, log } = serving;
  const unfollow = followReloads(runtime, log);
  const desk = await deskOf(runtime, log);
  try {
    await runtime.startServices({ log, publicUrl: runtime.config.http.publicUrl ?? door.url });
    onOpen(await startReport(runtime, door));
    log.info({ url: door.url }, "The server is open");
    const signal = await stopping.first;
    log.info({ signal }, "Stopping: no new requests, calls that run may finish");
  } finally {
    unfollow();
    await closeDoor(serving);
    await desk?.close();
  }
}

/** Without a desk the door is as good as with one; only the command line has to wait until this process has stopped. */
async function deskOf({ engine, config, ownFolder }: Runtime, log: Logger): Promise<OpenDesk | undefined> {
  // Another process has the state folder, and its desk.
  if (ownFolder !== config.stateFolder) return undefined;
  try {
    const desk = await openDesk(engine, config.stateFolder);
    if (!desk) {
      const why =
        process.platform === "win32" ? "not on this system" : "the path of its state folder is too long";
      log.warn({}, `The command line cannot reach this server: ${why}`);
    }
    return desk;
  } catch (error) {
    log.warn({ err: error }, "The command line cannot reach this server");
    return undefined;
  }
}

async function closeDoor({ runtime, door, stopping, log }: Serving): Promise<void> {
  const closed = drain(runtime, door);
  const isCut = await Promise.race([closed.then(() => false), stopping.second.then(() => true)]);
  if (isCut) {
    log.warn({ running: runtime.engine.load().running }, "Told again to stop: calls that run are ended now");
    await runtime.engine.close();
  }
  const { finished, cut } = await closed;
  log.info({ finished, cut }, "No call runs any more");
}

/** Takes no more requests, lets calls finish within the time and records the rest, then ends every connection. */
async function drain({ engine, config }: Runtime, door: Door): Promise<Drained> {
  door.stopAccepting();
  const drained = await engine.drain({ withinMs: config.http.shutdownSeconds * 1_000 });
  await door.close({ withinMs: LAST_ANSWERS_MS });
  return drained;
}

/** For answers to calls that have just ended. */
const LAST_ANSWERS_MS = 2_000;

/** Reloads, and writes down what came of it. A server that is still opening reads the newest file anyway. */
async function tellReload(runtime: Runtime | undefined, log: Logger): Promise<void> {
  if (!runtime) return;
  const report = await reloadRuntime(runtime).catch((error: unknown) => error);
  if (!isReport(report)) {
    log.error({ err: report }, "The configuration could not be reloaded; it stays as it was");
  } else if (!report.ok) {
    tellProblem(report.failure, log);
  } else {
    const { file, applied, needsRestart, tools, domain: served } = report;
    const domain = served && `${served.id} ${served.version}`;
    log.info({ file, applied, tools, ...(domain && { domain }) }, "The configuration was reloaded");
    const { unannounced = [] } = runtime.live.gateway ?? {};
    if (unannounced.length > 0) log.warn({ tools: unannounced }, UNANNOUNCED);
    if (needsRestart.length > 0) log.warn({ keys: needsRestart }, "These changes count from the next start");
  }
}

const UNANNOUNCED =
  "Tools were added or taken away, and the domain's version is the same: clients do not look again until it is raised";

function isReport(answer: unknown): answer is ReloadReport {
  return typeof answer === "object" && answer !== null && "ok" in answer;
}

/** A warning: the server goes on with what was in force, and whoever asked for the change is told why. */
function tellProblem({ code, message, advice, issues = [] }: Failure, log: Logger): void {
  const places = issues.map(({ path, reason, suggestion }) =>
    [path, reason, suggestion].filter((part) => part !== undefined).join(" "),
  );
  log.warn({ code, places, advice }, `What was in force stays: ${message}`);
}

/**
 * Follows the configuration in force: its log level, and its rules files, which count as soon as they are written.
 * Returns how to stop.
 */
function followReloads(runtime: Runtime, log: Logger): () => void {
  let unwatch = watchRules(runtime.rules, log);
  log.level = logLevelOf(runtime);
  const unfollow = runtime.live.follow(() => {
    log.level = logLevelOf(runtime);
    unwatch();
    unwatch = watchRules(runtime.rules, log);
  });
  return () => {
    unfollow();
    unwatch();
  };
}

/** Of a gateway the domain says it (AX-POL-1). */
function logLevelOf({ config, live }: Runtime): string {
  return live.gateway?.domain.policies.logLevel.toLowerCase() ?? config.log.level;
}

function watchRules(rules: PolicyFiles | undefined, log: Logger): () => void {
  const tell = (outcome: Reloaded | Failure) => {
    if (isFailure(outcome)) tellProblem(outcome, log);
    else log.info({ versions: outcome.versions }, "The rules were reloaded");
  };
  return rules?.watch({ onReload: tell, onProblem: tell }) ?? (() => undefined);
}

/** What a tool does to itself: it threw, took too long, or went beyond a limit; or its worker did, or is not there. */
const OF_TOOLS = new Set(["E3102", "E3103", "E3108", "E3907", "E3962", "E3963", "E3964"]);

/** That somebody cancelled a call is no trouble of the server, however often it happens; that a tool failed is the tool's. */
export function tellError(report: ErrorReport, log: Logger): void {
  if (report.code === "E3906") log.debug({ ...report }, "A call was cancelled");
  // As its envelope has it: an ordinary ending, such as an input that the worker does not take.
  else if (report.code === "E3961") log.info({ ...report }, "A worker reported a failure");
  else if (report.code === "E3511") log.warn({ ...report }, "A deterministic tool gave another result");
  else if (OF_TOOLS.has(report.code)) log.warn({ ...report }, "A tool failed");
  else log.error({ ...report }, "Something went wrong inside");
}
