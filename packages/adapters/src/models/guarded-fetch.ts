import { errorAnswer } from "./error-answer.ts";
import { guardedBody } from "./guarded-body.ts";
import { IdleWatch } from "./idle-watch.ts";
import { ModelTrouble } from "./model-trouble.ts";

export interface FetchGuards {
  fetch: typeof fetch;
  /** How long nothing at all may come. */
  idleMs: number;
  /** Taken out of every error a provider answers with. */
  secrets: readonly string[];
}

/** What can never be a stream of events; servers of many kinds are not exact about the rest. */
const NOT_EVENTS = /^(text\/html|application\/(\w+\+)?json)\b/i;

/**
 * `fetch` with bounds: no redirects (a key must not travel to another host), a limit on silence, on the length of a
 * line and on errors. Rejects with a ModelTrouble for what it finds itself.
 */
export function guardedFetch(guards: FetchGuards): typeof fetch {
  return async (input, init) => {
    const idle = new IdleWatch(guards.idleMs);
    const signal = init?.signal ? AbortSignal.any([init.signal, idle.signal]) : idle.signal;
    const headers = withoutEmptyKeys(init?.headers);
    const request = { ...init, headers, signal, redirect: "manual" } as const;
    const response = await idle.during(() => guards.fetch(input, request));
    if (isRedirect(response))
      await refuse(response, `it redirects (${response.status}), which is not followed`);
    if (!response.ok) return idle.during(() => errorAnswer(response, guards.secrets));
    return answer(response, idle);
  };
}

function isRedirect({ status }: Response): boolean {
  return status >= 300 && status < 400;
}

async function answer(response: Response, idle: IdleWatch): Promise<Response> {
  const type = response.headers.get("content-type")?.split(";")[0] ?? "";
  if (NOT_EVENTS.test(type)) await refuse(response, `it answered with ${type} instead of a stream of events`);
  const { status, headers } = response;
  return new Response(response.body && guardedBody(response.body, idle), { status, headers });
}

async function refuse(response: Response, why: string): Promise<never> {
  await response.body?.cancel();
  throw new ModelTrouble("protocol", why);
}

/** A provider that is asked without a key is sent no empty one. */
function withoutEmptyKeys(given: ConstructorParameters<typeof Headers>[0]): Headers {
  const headers = new Headers(given);
  if (headers.get("x-api-key") === "") headers.delete("x-api-key");
  if (headers.get("authorization") === "Bearer") headers.delete("authorization");
  return headers;
}
