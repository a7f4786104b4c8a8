import { randomUUID } from "node:crypto";
import type { EventEmitter } from "node:events";
import { SallyportError } from "@sallyport/protocol";
import type { Logger } from "pino";
import { type OpenHouse, openHouse } from "../compose.ts";
import { processEnvironment } from "../config/environment.ts";
import type { LoadedConfig } from "../config/load.ts";
import { type OpenDesk, openDesk } from "../desk/index.ts";
import { type HttpOptions, type OpenHttp, openHttp } from "../http/compose-http.ts";
import { openTelemetry } from "../telemetry/index.ts";
import { VERSION } from "../version.ts";
import { followReloads, tellReload } from "./follow-reloads.ts";
import { type StartReport, startReport } from "./start-report.ts";
import { listenForSignals, type StopSignals } from "./stop-signal.ts";
import { tellError } from "./tell-error.ts";
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
 * Opens a house and its HTTP door and keeps them open until it is told to stop; resolves when everything is closed and
 * on record. Rejects with a code, and leaves nothing open, when it cannot be opened.
 */
export async function serveHouse(options: ServeOptions): Promise<void> {
  const { config, log, onOpen, signals = process } = options;
  const opened: { http?: OpenHttp } = {};
  const stopping = listenForSignals(signals, {
    onReload: () => void tellReload(opened.http, log),
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
    const house = await openHouse({
      config,
      meter,
      instance,
      ...(tracer && { tracer }),
      errors: { report: (report) => tellError(report, log) },
    });
    try {
      const http = await openDoor(house, { log, telemetry });
      opened.http = http;
      await whileOpen({ house, http, stopping, log }, onOpen);
    } finally {
      // What could not be published by then waits for the next start.
      await house.close();
    }
    log.info({}, "Everything is closed");
  } finally {
    await telemetry.close();
    stopping.done();
  }
}

/** An address that cannot be had is the one thing that whoever starts a server can put right on the spot. */
async function openDoor(house: OpenHouse, options: HttpOptions): Promise<OpenHttp> {
  try {
    return await openHttp(house, options);
  } catch (error) {
    if (!(error instanceof SallyportError) || error.failure.code !== "E3943") throw error;
    const { port } = house.config.http;
    const advice = `Stop what uses it, or choose another: sallyport serve --port ${port < LAST_PORT ? port + 1 : 0} (--port 0 takes any free one; --host for the address; http.port and http.host in the file).`;
    throw new SallyportError({ ...error.failure, advice }, { cause: error });
  }
}

const LAST_PORT = 65_535;

interface Serving {
  house: OpenHouse;
  http: OpenHttp;
  stopping: StopSignals;
  log: Logger;
}

async function whileOpen(serving: Serving, onOpen: ServeOptions["onOpen"]): Promise<void> {
  const { house, http, stopping, log } = serving;
  const unfollow = followReloads(house, log);
  const desk = await deskOf(house, log);
  try {
    onOpen(await startReport(house, http));
    log.info({ url: http.url }, "The door is open");
    const signal = await stopping.first;
    log.info({ signal }, "Stopping: no new requests, calls that run may finish");
  } finally {
    unfollow();
    await closeDoor(serving);
    await desk?.close();
  }
}

/** Without a desk the door is as good as with one; only the command line has to wait until this process has stopped. */
async function deskOf({ engine, config }: OpenHouse, log: Logger): Promise<OpenDesk | undefined> {
  try {
    const desk = await openDesk(engine, config.stateFolder);
    if (!desk)
      log.warn({}, "The command line cannot reach this server: the path of its state folder is too long");
    return desk;
  } catch (error) {
    log.warn({ err: error }, "The command line cannot reach this server");
    return undefined;
  }
}

async function closeDoor({ house, http, stopping, log }: Serving): Promise<void> {
  const closed = http.close({ withinMs: house.config.http.shutdownSeconds * 1_000 });
  const isCut = await Promise.race([closed.then(() => false), stopping.second.then(() => true)]);
  if (isCut) {
    log.warn({ running: house.engine.load().running }, "Told again to stop: calls that run are ended now");
    await house.engine.close();
  }
  const { finished, cut } = await closed;
  log.info({ finished, cut }, "No call runs any more");
}
