import { timerMs } from "@sallyport/engine/host";
import { failure, type JsonObject, type JsonValue, namesTwice, SallyportError } from "@sallyport/protocol";

const MAX_ANSWER_BYTES = 1024 * 1024;

/** How a policy service is reached. */
export interface Service {
  /** Who is asked, in messages. */
  name: string;
  url: URL;
  timeoutMs: number;
  headers: Readonly<Record<string, string>>;
  fetch: typeof fetch;
}

/**
 * Posts a question and reads the answer. Rejects (E3206) unless a 200 with JSON of at most 1 MiB comes in time from
 * the very address that was asked: a redirect is not followed. Afterwards nothing of the request is left open.
 */
export async function askJson(service: Service, question: JsonObject): Promise<JsonValue> {
  const ending = new AbortController();
  const timer = setTimeout(() => ending.abort(), timerMs(service.timeoutMs));
  try {
    return await post(service, question, ending.signal);
  } catch (error) {
    throw ending.signal.aborted ? late(service) : unusable(service, error);
  } finally {
    clearTimeout(timer);
    ending.abort();
  }
}

async function post(service: Service, question: JsonObject, signal: AbortSignal): Promise<JsonValue> {
  const response = await service.fetch(service.url, {
    method: "POST",
    headers: { ...service.headers, "content-type": "application/json", accept: "application/json" },
    body: JSON.stringify(question),
    redirect: "error",
    signal,
  });
  if (response.status !== 200) throw new Error(`it answered ${response.status}`);
  const type = response.headers.get("content-type") ?? "nothing";
  if (!/^application\/(?:[\w.-]+\+)?json\s*(?:;|$)/i.test(type))
    throw new Error(`it answered ${type}, not JSON`);
  const text = await readBounded(response);
  const answer: JsonValue = JSON.parse(text);
  if (namesTwice(text, answer)) throw new Error("its answer names a member twice");
  return answer;
}

async function readBounded(response: Response): Promise<string> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of response.body ?? []) {
    size += chunk.byteLength;
    if (size > MAX_ANSWER_BYTES) throw new Error(`it answered more than ${MAX_ANSWER_BYTES} bytes`);
    chunks.push(chunk);
  }
  return new TextDecoder("utf-8", { fatal: true }).decode(Buffer.concat(chunks));
}

function late({ name, timeoutMs }: Service): SallyportError {
  return new SallyportError(failure("E3206", { message: `${name} did not answer within ${timeoutMs} ms.` }));
}

function unusable({ name }: Service, error: unknown): SallyportError {
  const why = error instanceof Error ? whyOf(error) : String(error);
  return new SallyportError(failure("E3206", { message: `${name} could not be asked: ${why}` }), {
    cause: error,
  });
}

/** What fetch says itself is always the same; the cause is what helps. */
function whyOf(error: Error): string {
  return error.cause instanceof Error ? `${error.message}: ${error.cause.message}` : error.message;
}
