import { randomUUID } from "node:crypto";
import { systemClock, uuidV7 } from "@sallyport/engine";
import { type Failure, isFailure, SallyportError } from "@sallyport/protocol";
import type { OpenHouse } from "../compose.ts";
import { keepHouse } from "../housekeeping.ts";
import { freshKeys, keyFilesIn, keyFolder, loadKeys, tokenRulesOf } from "../keys/index.ts";
import { ensureOperatorKey } from "../keys/operator-key.ts";
import { type ReloadReport, reloadHouse } from "../reload/reload-house.ts";
import { reloadRoutes } from "../reload/reload-routes.ts";
import { sampleCall } from "../serve/sample-call.ts";
import { createHttpMetrics, type OpenTelemetry } from "../telemetry/index.ts";
import { VERSION } from "../version.ts";
import { type OpenWebhooks, openWebhooks } from "../webhooks/open-webhooks.ts";
import { createGuard, OperatorKeyCheck, SessionBook, sessionRoutes, TokenReader } from "./guard/index.ts";
import { type DoorLog, type HttpDoor, openHttpDoor, type SeenAnswer } from "./kernel/index.ts";
import { readinessOf } from "./readiness.ts";
import { type DoorParts, doorRoutes } from "./routes/index.ts";
import { SwitchedOffTools } from "./switched-off-tools.ts";

export interface HttpOptions {
  log: DoorLog;
  telemetry?: OpenTelemetry | undefined;
}

/** A house that is open to the network. */
export interface OpenHttp {
  url: string;
  /** Puts a changed configuration into force, as `POST /v1/config:reload` does. */
  reload(): Promise<ReloadReport>;
  /**
   * Takes no more requests, lets calls finish within the time and records the rest, then ends every connection. The
   * house itself is its owner's to close.
   */
  close(options: { withinMs: number }): Promise<{ finished: number; cut: number }>;
}

/**
 * Opens the HTTP door of a house: routes, guard, callbacks and chores, and takes up what an earlier process had accepted.
 * Throws with a code, and leaves nothing open, when any of it cannot be had.
 */
export async function openHttp(house: OpenHouse, { log, telemetry }: HttpOptions): Promise<OpenHttp> {
  const { config, engine } = house;
  const guarded = guardOf(house);
  const webhooks = openWebhooks(house, { log, callbackHosts: config.webhooks.callbackHosts });
  const metrics = telemetry && createHttpMetrics(telemetry.meter);
  const switchedOff = new SwitchedOffTools(house);
  const reload = async () => {
    const report = await reloadHouse(house);
    switchedOff.note(report);
    return report;
  };
  const parts: DoorParts = partsOf(house, { guard: guarded.guard, webhooks, telemetry, switchedOff });
  const more = [
    ...sessionRoutes({ sessions: guarded.sessions, tls: isSecure(config.http) }),
    ...reloadRoutes(reload),
  ];
  let door: HttpDoor;
  try {
    door = await openHttpDoor({
      routes: doorRoutes(parts, more),
      settings: config.http,
      guard: guarded.guard,
      log,
      onAnswer: (answer) => {
        const { method, route, status, durationMs } = answer;
        metrics?.answered({ method, route: route?.path, status, seconds: durationMs / 1_000 });
        noteAnswer(answer, log);
      },
    });
  } catch (error) {
    await webhooks.close();
    throw error;
  }
  webhooks.announceAt(config.http.publicUrl ?? door.url);
  await takeUp(house, log).catch(async (error) => {
    await door.close({ withinMs: 0 });
    await webhooks.close();
    throw error;
  });
  const chores = keepHouse(house.chores, (chore, error) => log.warn({ chore, err: error }, "A chore failed"));
  return {
    url: door.url,
    reload,
    close: async ({ withinMs }) => {
      door.stopAccepting();
      const drained = await engine.drain({ withinMs });
      await door.close({ withinMs: LAST_WORDS_MS });
      await chores.stop();
      await webhooks.close();
      return drained;
    },
  };
}

/** Also where a proxy in front speaks TLS. */
function isSecure({ tls, publicUrl }: OpenHouse["config"]["http"]): boolean {
  return tls !== undefined || publicUrl?.startsWith("https:") === true;
}

async function takeUp({ engine }: OpenHouse, log: DoorLog): Promise<void> {
  const taken = await engine.takeUp();
  if (taken > 0) log.info({ calls: taken }, "Took up calls that were accepted earlier");
}

/** Who was not let in, and what operators change, can be read in the log. */
function noteAnswer({ method, route, status, code, principal, requestId }: SeenAnswer, log: DoorLog): void {
  if (code === "E3939" || code === "E3941")
    log.warn({ code, requestId, route: route?.id }, "A credential was refused");
  else if (principal === "operator" && method !== "GET" && method !== "HEAD")
    log.info({ route: route?.id, status, requestId }, "An operator's request");
}

/** For answers to calls that have just ended. */
const LAST_WORDS_MS = 2_000;

function guardOf({ config, tokens }: OpenHouse) {
  const folder = keyFolder(config.stateFolder);
  const sessions = new SessionBook();
  const ownKeys = freshKeys(() => loadKeys(folder), keyFilesIn(folder));
  const guard = createGuard({
    callers: config.http.callers,
    operator: new OperatorKeyCheck(must(ensureOperatorKey(folder)).key),
    sessions,
    tokens: new TokenReader({
      checker: tokens,
      approvalKeys: () => orNone(ownKeys)?.public,
    }),
  });
  return { guard, sessions };
}

/** Keys that cannot be had check nothing. */
function orNone<Keys>(keys: () => Keys): Keys | undefined {
  try {
    return keys();
  } catch {
    return undefined;
  }
}

interface Beside {
  guard: ReturnType<typeof createGuard>;
  webhooks: Pick<OpenWebhooks, "refuseCallback">;
  telemetry: OpenTelemetry | undefined;
  switchedOff: SwitchedOffTools;
}

function partsOf(house: OpenHouse, { guard, webhooks, telemetry, switchedOff }: Beside): DoorParts {
  const { config, engine, store, live } = house;
  const clock = systemClock;
  const caller = { tenant: config.caller.tenant, agent: "http" };
  const isSwitchedOff = (tool: string) => switchedOff.has(tool);
  return {
    engine,
    calls: store.calls,
    audit: store.audit,
    authority: live.authority,
    callers: config.http.callers,
    caller,
    isSwitchedOff,
    example: () => sampleCall({ engine, authority: live.authority, config, caller, isSwitchedOff }),
    recognise: (token) => guard.recognise(token),
    holds: (principal) => guard.holds(principal),
    refuseCallback: (url) => webhooks.refuseCallback(url),
    grantTier: config.approvals.grantTier,
    approvalKey: () => signingKey(config.stateFolder),
    tokenRules: tokenRulesOf(config),
    clock,
    ids: uuidV7(() => clock.now()),
    epoch: randomUUID().slice(0, 8),
    version: VERSION,
    checks: readinessOf(house),
    ...(telemetry && {
      metrics: {
        render: () => telemetry.render(),
        access: config.http.metrics === "open" ? ("public" as const) : ("operator" as const),
      },
    }),
  };
}

function signingKey(stateFolder: string) {
  const keys = loadKeys(keyFolder(stateFolder));
  return isFailure(keys) ? keys : keys.current;
}

function must<Value extends object>(value: Value | Failure): Value {
  if (!isFailure(value)) return value;
  throw new SallyportError(value);
}
