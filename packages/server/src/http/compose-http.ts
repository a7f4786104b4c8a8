import { systemClock, uuidV7 } from "@sallyport/engine";
import { RefusalBudget } from "@sallyport/engine/host";
import { entryOf, failure, isFailure } from "@sallyport/protocol";
import { freshKeys, keyFilesIn, keyFolder, loadKeys, tokenRulesOf } from "../keys/index.ts";
import { ensureOperatorKey } from "../keys/operator-key.ts";
import { must } from "../must.ts";
import { reloadRoutes } from "../reload/reload-routes.ts";
import { reloadRuntime } from "../reload/reload-runtime.ts";
import type { Door, Runtime } from "../runtime/runtime.ts";
import { sampleCall } from "../serve/sample-call.ts";
import { createHttpMetrics, type OpenTelemetry } from "../telemetry/index.ts";
import { VERSION } from "../version.ts";
import { refuseCallback } from "../webhooks/open-webhooks.ts";
import { createGuard, OperatorKeyCheck, SessionBook, sessionRoutes, TokenReader } from "./guard/index.ts";
import { type DoorLog, openHttpDoor, type SeenAnswer } from "./kernel/index.ts";
import { readinessOf } from "./readiness.ts";
import { doorRoutes, type RouteContext } from "./routes/index.ts";
import { SwitchedOffTools } from "./switched-off-tools.ts";

export interface HttpOptions {
  log: DoorLog;
  telemetry?: OpenTelemetry | undefined;
}

/**
 * Opens the HTTP door of a runtime: routes and guard. Throws with a code, and leaves nothing open, when any of it cannot be
 * had.
 */
export async function openHttp(runtime: Runtime, { log, telemetry }: HttpOptions): Promise<Door> {
  const { config, engine } = runtime;
  const guarded = guardOf(runtime);
  const metrics = telemetry && createHttpMetrics(telemetry.meter);
  const switchedOff = new SwitchedOffTools(runtime);
  const parts: RouteContext = partsOf(runtime, { guard: guarded.guard, telemetry, switchedOff, log });
  const more = [
    ...sessionRoutes({ sessions: guarded.sessions, tls: isSecure(config.http) }),
    ...reloadRoutes(() => reloadRuntime(runtime)),
  ];
  const budget = new RefusalBudget();
  return await openHttpDoor({
    routes: doorRoutes(parts, more),
    settings: config.http,
    guard: guarded.guard,
    log,
    onAnswer: (answer) => {
      const { method, route, status, durationMs } = answer;
      metrics?.answered({ method, route: route?.path, status, seconds: durationMs / 1_000 });
      noteAnswer(answer, { log, engine, budget });
    },
  });
}

/** Also where a proxy in front speaks TLS. */
function isSecure({ tls, publicUrl }: Runtime["config"]["http"]): boolean {
  return tls !== undefined || publicUrl?.startsWith("https:") === true;
}

/** Nothing was shown, or what was shown does not hold or does not suffice. */
const NOT_LET_IN: ReadonlySet<string> = new Set([
  ...["E3201", "E3202", "E3207", "E3208"],
  ...["E3938", "E3939", "E3940", "E3941"],
]);

interface Noting {
  log: DoorLog;
  engine: Runtime["engine"];
  /** Of log lines; the audit chain has its own. */
  budget: RefusalBudget;
}

/** Who was not let in can be read in the log and in the audit chain, what operators change in the log. */
function noteAnswer(answer: SeenAnswer, { log, engine, budget }: Noting): void {
  const { method, route, status, code, principal, requestId, address } = answer;
  if (code !== undefined && NOT_LET_IN.has(code)) {
    const error = { code, message: entryOf(failure(code)).title };
    void engine.recordRefusal({ error, route: route?.id ?? "", requestId, address });
    const leftOut = budget.take(Date.now(), `${code} ${address}`);
    if (leftOut === undefined) return;
    const fields = { code, requestId, route: route?.id, address, ...(leftOut > 0 && { leftOut }) };
    log.warn(fields, "A request was not let in");
  } else if (principal === "operator" && method !== "GET" && method !== "HEAD")
    log.info({ route: route?.id, status, requestId }, "An operator's request");
}

function guardOf({ config, tokens, store }: Runtime) {
  const folder = keyFolder(config.stateFolder);
  const sessions = new SessionBook(store);
  const ownKeys = freshKeys(() => loadKeys(folder), keyFilesIn(folder));
  const guard = createGuard({
    callers: config.http.callers,
    operator: new OperatorKeyCheck(must(ensureOperatorKey(folder)).key, store),
    sessions,
    tokens: new TokenReader({
      checker: tokens,
      approvalKeys: () => orNone(ownKeys)?.public,
    }),
  });
  return { guard, sessions };
}

/** Without keys no token is accepted. */
function orNone<Keys>(keys: () => Keys): Keys | undefined {
  try {
    return keys();
  } catch {
    return undefined;
  }
}

interface Collaborators {
  guard: ReturnType<typeof createGuard>;
  telemetry: OpenTelemetry | undefined;
  switchedOff: SwitchedOffTools;
  log: DoorLog;
}

function partsOf(runtime: Runtime, { guard, telemetry, switchedOff, log }: Collaborators): RouteContext {
  const { config, engine, store, live } = runtime;
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
    gateway: live.gateway,
    log,
    example: () => sampleCall({ engine, authority: live.authority, config, caller, isSwitchedOff }),
    recognise: (token) => guard.recognise(token),
    holds: (principal) => guard.holds(principal),
    refuseCallback: (url) => refuseCallback(url, config),
    grantTier: config.approvals.grantTier,
    approvalKey: () => signingKey(config.stateFolder),
    tokenRules: tokenRulesOf(config),
    clock,
    ids: uuidV7(() => clock.now()),
    version: VERSION,
    store: config.store.postgres ? "postgres" : "embedded",
    checks: readinessOf(runtime),
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
