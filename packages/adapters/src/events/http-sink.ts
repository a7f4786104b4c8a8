import type { CloudEvent, EventSink, OutgoingEvent } from "@sallyport/engine/ports";
import { failure, SallyportError } from "@sallyport/protocol";
import { inTurn, parcels } from "./parcels.ts";

type SinkHeaders = Readonly<Record<string, string>>;

export interface HttpSinkOptions {
  url: string;
  /** `batched` (default): many events a request. `structured`: one event as JSON. `binary`: its attributes as headers. */
  mode?: "batched" | "structured" | "binary";
  /** Sent with every request, such as `authorization`; a function is asked for them each time. */
  headers?: SinkHeaders | (() => SinkHeaders);
  /** For each request. */
  timeoutMs?: number;
}

const DEFAULT_TIMEOUT_MS = 10_000;
/** One request in `batched` mode: servers refuse bodies that are much larger. */
const BATCH = { most: 100, chars: 1024 * 1024 };

/**
 * Posts CloudEvents to a URL, in order, one request after the other. Any answer but 2xx rejects; redirects are not
 * followed. After a rejection some events may have arrived; sending them again makes duplicates with the same id.
 */
export function createHttpSink(options: HttpSinkOptions): EventSink {
  return {
    send: inTurn(async (events, signal) => {
      for (const request of requestsFor(events, options.mode ?? "batched"))
        await post(request, options, signal);
    }),
  };
}

interface EventRequest {
  headers: Record<string, string>;
  body: string;
}

function* requestsFor(
  events: readonly OutgoingEvent[],
  mode: NonNullable<HttpSinkOptions["mode"]>,
): Generator<EventRequest> {
  if (mode !== "batched") {
    for (const { json } of events) yield mode === "binary" ? binary(json) : structured(json);
    return;
  }
  for (const parcel of parcels(events, BATCH)) {
    const body = `[${parcel.map(({ json }) => json).join()}]`;
    yield { headers: { "content-type": "application/cloudevents-batch+json; charset=UTF-8" }, body };
  }
}

function structured(json: string): EventRequest {
  return { headers: { "content-type": "application/cloudevents+json; charset=UTF-8" }, body: json };
}

function binary(json: string): EventRequest {
  const { data, datacontenttype, ...attributes }: CloudEvent = JSON.parse(json);
  const named = Object.entries(attributes).map(([name, value]) => [`ce-${name}`, headerValue(String(value))]);
  return {
    headers: { ...Object.fromEntries(named), "content-type": datacontenttype },
    body: JSON.stringify(data),
  };
}

/** CloudEvents HTTP binding, 3.1.3.2: what is not printable ASCII, a quote or a percent sign is percent-encoded. */
function headerValue(text: string): string {
  return text
    .toWellFormed()
    .replaceAll(/[^\x21-\x7e]|["%]/gu, (sign) =>
      Array.from(Buffer.from(sign), (byte) => `%${byte.toString(16).toUpperCase().padStart(2, "0")}`).join(
        "",
      ),
    );
}

async function post(
  { headers, body }: EventRequest,
  options: HttpSinkOptions,
  stop: AbortSignal | undefined,
): Promise<void> {
  stop?.throwIfAborted();
  const { url, timeoutMs = DEFAULT_TIMEOUT_MS } = options;
  const late = AbortSignal.timeout(timeoutMs);
  const own = typeof options.headers === "function" ? options.headers() : options.headers;
  let response: Response;
  try {
    response = await fetch(url, {
      method: "POST",
      headers: { ...own, ...headers },
      body,
      redirect: "manual",
      signal: stop ? AbortSignal.any([late, stop]) : late,
    });
    await response.body?.cancel();
  } catch (cause) {
    stop?.throwIfAborted();
    throw refused(url, reasonOf(cause, timeoutMs));
  }
  if (!response.ok) throw refused(url, `it answered ${response.status}`);
}

function refused(url: string, reason: string): SallyportError {
  const { origin } = new URL(url);
  return new SallyportError(
    failure("E3304", {
      message: `${origin} did not take the events: ${reason}.`,
      advice: "Check the address and the credential; the events wait in the outbox.",
    }),
  );
}

function reasonOf(error: unknown, timeoutMs: number): string {
  if (error instanceof Error && error.name === "TimeoutError") return `no answer within ${timeoutMs} ms`;
  const { cause } = error as { cause?: { code?: unknown } };
  return typeof cause?.code === "string" ? cause.code : "the connection failed";
}
