import { isJsonObject, type JsonObject, parseUnambiguousJson } from "@sallyport/protocol";
import { ToolError } from "@sallyport/worker";

export interface UpstreamOptions {
  baseUrl: string;
  key: string;
  /** How long one request may take, its body included. */
  timeoutMs: number;
  /** Aborts when the run ends. */
  signal: AbortSignal;
  headers: Readonly<Record<string, string>>;
}

/** More than any page has. */
const MAX_BODY_BYTES = 16 * 1024 * 1024;

/** Asks the Firecrawl API. Every way to fail is a `ToolError` without a word of the key or of what the API said. */
export class Upstream {
  readonly #options: UpstreamOptions;

  constructor(options: UpstreamOptions) {
    this.#options = options;
  }

  post(path: string, body: JsonObject): Promise<JsonObject> {
    return this.#ask("POST", path, body);
  }

  get(path: string): Promise<JsonObject> {
    return this.#ask("GET", path);
  }

  /** Tells the API that nobody waits for a job any more. What becomes of it changes nothing for the caller. */
  async cancel(path: string): Promise<void> {
    await this.#fetch("DELETE", path, AbortSignal.timeout(this.#options.timeoutMs)).then(
      (response) => response.body?.cancel(),
      () => {},
    );
  }

  async #ask(method: string, path: string, body?: JsonObject): Promise<JsonObject> {
    const timeout = AbortSignal.timeout(this.#options.timeoutMs);
    const signal = AbortSignal.any([this.#options.signal, timeout]);
    try {
      const response = await this.#fetch(method, path, signal, body);
      if (!response.ok) throw await refusal(response);
      return readObject(await textOf(response));
    } catch (error) {
      if (error instanceof ToolError) throw error;
      if (timeout.aborted) throw new ToolError("TIMEOUT", "Firecrawl took too long.", { retryable: true });
      throw new ToolError("UPSTREAM_ERROR", "Firecrawl cannot be reached.", { retryable: true });
    }
  }

  /** Redirects are not followed: the key is for this host only. */
  #fetch(method: string, path: string, signal: AbortSignal, body?: JsonObject): Promise<Response> {
    const { baseUrl, key, headers } = this.#options;
    return fetch(`${baseUrl.replace(/\/+$/, "")}${path}`, {
      method,
      redirect: "manual",
      signal,
      headers: { ...headers, authorization: `Bearer ${key}`, "content-type": "application/json" },
      ...(body && { body: JSON.stringify(body) }),
    });
  }
}

/** 401 and 5xx may pass; any other status will come again. */
async function refusal(response: Response): Promise<ToolError> {
  const { status } = response;
  await response.body?.cancel();
  const retryable = status === 401 || status >= 500;
  return new ToolError("UPSTREAM_ERROR", `Firecrawl answered ${status}.`, { retryable, details: { status } });
}

async function textOf(response: Response): Promise<string> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of response.body ?? []) {
    size += chunk.length;
    if (size > MAX_BODY_BYTES) throw new ToolError("UPSTREAM_ERROR", "Firecrawl's answer is too large.");
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString();
}

function readObject(text: string): JsonObject {
  const value = parseUnambiguousJson(text);
  if (isJsonObject(value)) return value;
  throw new ToolError("UPSTREAM_ERROR", "Firecrawl's answer is not JSON.", { retryable: true });
}
