import { timerMs } from "@sallyport/engine/host";
import { ModelTrouble } from "./model-trouble.ts";

const SECOND_MS = 1_000;

/** Gives up on a provider that says nothing. Counts only while somebody waits for it. */
class IdleWatch {
  readonly #idleMs: number;
  readonly #controller = new AbortController();

  constructor(idleMs: number) {
    this.#idleMs = idleMs;
  }

  /** Aborts, with a ModelTrouble as its reason, when a wait took too long. */
  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** Waits for `work`. Rejects with a ModelTrouble when the time is over, whatever `work` itself rejects with. */
  async during<T>(work: () => Promise<T>): Promise<T> {
    const timer = setTimeout(() => this.#giveUp(), timerMs(this.#idleMs));
    try {
      return await work();
    } catch (error) {
      throw this.signal.aborted ? this.signal.reason : error;
    } finally {
      clearTimeout(timer);
    }
  }

  #giveUp(): void {
    const seconds = Math.round(this.#idleMs / SECOND_MS);
    this.#controller.abort(new ModelTrouble("timeout", `it sent nothing for ${seconds} s`));
  }
}

/** Parsers keep an unfinished line in memory. The longest honest one holds a whole tool call. */
const LONGEST_LINE_BYTES = 8 * 1024 * 1024;
const LINE_FEED = 0x0a;

/** The same bytes, until there is silence for too long or a line without end: then it fails with a ModelTrouble. */
function guardedBody(body: ReadableStream<Uint8Array>, idle: IdleWatch): ReadableStream<Uint8Array> {
  const reader = body.getReader();
  const line = new LineLength();
  return new ReadableStream<Uint8Array>({
    async pull(controller) {
      try {
        const { done, value } = await idle.during(() => reader.read());
        if (done) return controller.close();
        line.add(value);
        controller.enqueue(value);
      } catch (error) {
        controller.error(error);
        await reader.cancel(error).catch(() => undefined);
      }
    },
    cancel: (reason) => reader.cancel(reason),
  });
}

class LineLength {
  #bytes = 0;

  add(chunk: Uint8Array): void {
    const last = chunk.lastIndexOf(LINE_FEED);
    this.#bytes = last === -1 ? this.#bytes + chunk.length : chunk.length - last - 1;
    if (this.#bytes > LONGEST_LINE_BYTES) {
      throw new ModelTrouble("protocol", "it sent a line without end");
    }
  }
}

/** More of an error is of no use to anybody. */
const ERROR_BYTES = 64 * 1024;
const MARKER = "[REDACTED]";

/** An error of a provider with a bounded body, in which the secrets it was sent do not occur. */
async function errorAnswer(response: Response, secrets: readonly string[]): Promise<Response> {
  const text = response.body ? await readUpTo(response.body, ERROR_BYTES) : "";
  const body = secrets.reduce((shown, secret) => shown.replaceAll(secret, MARKER), text);
  const { status, statusText, headers } = response;
  const kept = new Headers(headers);
  // The body is decoded by now, and of another length.
  kept.delete("content-encoding");
  kept.delete("content-length");
  return new Response(body, { status, statusText, headers: kept });
}

async function readUpTo(body: ReadableStream<Uint8Array>, bytes: number): Promise<string> {
  const chunks: Uint8Array[] = [];
  let room = bytes;
  for await (const chunk of body) {
    chunks.push(chunk.subarray(0, room));
    room -= chunk.length;
    if (room <= 0) break;
  }
  return Buffer.concat(chunks).toString("utf8");
}

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
