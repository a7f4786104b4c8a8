import { timerMs } from "@sallyport/engine/host";
import {
  defined,
  healthResponseField,
  type ReadinessFinding,
  type ReadinessResponse,
  readinessResponseField,
} from "@sallyport/protocol";
import { defineRoute, type Route } from "../route.ts";
import { mayKnowAll } from "./call-request.ts";
import type { ReadinessCheck, RouteContext } from "./parts.ts";

/** How long a check may take before its silence counts as missing. */
const CHECK_MS = 2_000;

/** `/healthz`, `/readyz` and `/metrics`: for whoever watches over the process. */
export function healthRoutes(
  parts: RouteContext,
  { checkMs = CHECK_MS }: { checkMs?: number } = {},
): Route[] {
  return [healthRoute(parts), readyRoute(parts, checkMs), ...metricsRoutes(parts)];
}

function healthRoute({ version, store }: RouteContext): Route {
  return defineRoute({
    id: "getHealth",
    method: "GET",
    path: "/healthz",
    tag: "Server",
    summary: "Say that the process answers",
    access: "public",
    answers: { 200: { description: "It does.", schema: healthResponseField } },
    handle: () => ({ status: 200, body: { status: "ok", version, store } }),
  });
}

function readyRoute(parts: RouteContext, checkMs: number): Route {
  const { checks, store, gateway } = parts;
  return defineRoute({
    id: "getReadiness",
    method: "GET",
    path: "/readyz",
    tag: "Server",
    summary: "Say whether calls can be taken",
    access: "public",
    answers: {
      200: { description: "They can.", schema: readinessResponseField },
      503: { description: "They cannot; the checks say what is missing.", schema: readinessResponseField },
    },
    handle: async ({ principal }) => {
      const findings = await Promise.all(checks.map((check) => examine(check, checkMs)));
      const isReady = findings.every(({ ok }) => ok);
      const body: ReadinessResponse = {
        status: isReady ? "ready" : "not_ready",
        store,
        checks: findings,
        ...(gateway && { domain: domainView(gateway, mayKnowAll(principal, parts)) }),
      };
      return isReady ? { status: 200, body } : { status: 503, headers: { "retry-after": "5" }, body };
    },
  });
}

/** Strangers do not learn where workers are, nor of tools that a token would hide from them. */
function domainView(
  gateway: NonNullable<RouteContext["gateway"]>,
  tellsWorkers: boolean,
): NonNullable<ReadinessResponse["domain"]> {
  const { id, version } = gateway.domain;
  if (!tellsWorkers) return { domain_id: id, version, workers: [] };
  const workers = gateway.workers().map(({ baseUrl, tools, state, why }) => {
    return { worker: baseUrl, tools, health: state, ...defined({ problem: why }) };
  });
  return { domain_id: id, version, workers };
}

async function examine({ name, check }: ReadinessCheck, checkMs: number): Promise<ReadinessFinding> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<string>((resolve) => {
    timer = setTimeout(() => resolve(`did not answer within ${checkMs} ms`), timerMs(checkMs));
  });
  try {
    const problem = await Promise.race([Promise.resolve(check()), late]);
    return problem === undefined ? { name, ok: true } : { name, ok: false, problem };
  } catch {
    // Why is in the log of whoever failed; here it could tell strangers about the inside of the server.
    return { name, ok: false, problem: "failed" };
  } finally {
    clearTimeout(timer);
  }
}

function metricsRoutes({ metrics }: RouteContext): Route[] {
  if (!metrics) return [];
  return [
    defineRoute({
      id: "getMetrics",
      method: "GET",
      path: "/metrics",
      tag: "Server",
      summary: "Readings for a Prometheus server",
      access: metrics.access,
      answers: { 200: { description: "The readings.", content: "text/plain" } },
      handle: async () => ({
        status: 200,
        headers: { "content-type": "text/plain; version=0.0.4; charset=utf-8" },
        content: await metrics.render(),
      }),
    }),
  ];
}
