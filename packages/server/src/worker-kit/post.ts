import { type IncomingMessage, type RequestOptions, request as requestHttp } from "node:http";
import { request as requestHttps } from "node:https";

/** A worker that says nothing for so long has failed the check. */
const PATIENCE_MS = 10_000;
const MAX_ANSWER_BYTES = 8 * 1024 * 1024;

export interface Reply {
  status: number;
  contentType: string;
  text: string;
}

const AS_JSON = { "content-type": "application/json" };

/**
 * One request on a connection of its own, with a body as JSON unless other headers are given. Rejects with words for a
 * person when no whole answer comes.
 */
export async function exchange(
  url: URL,
  body: string | undefined,
  headers: Readonly<Record<string, string>> = AS_JSON,
): Promise<Reply> {
  const response = await opened(url, body, headers);
  return {
    status: response.statusCode ?? 0,
    contentType: response.headers["content-type"] ?? "",
    text: await textOf(response),
  };
}

function opened(
  url: URL,
  body: string | undefined,
  headers: Readonly<Record<string, string>>,
): Promise<IncomingMessage> {
  const options: RequestOptions = {
    method: body === undefined ? "GET" : "POST",
    agent: false,
    signal: AbortSignal.timeout(PATIENCE_MS),
    ...(body !== undefined && {
      headers: { ...headers, "content-length": Buffer.byteLength(body) },
    }),
  };
  return new Promise((resolve, reject) => {
    const request = (url.protocol === "https:" ? requestHttps : requestHttp)(url, options, resolve);
    // After the answer has begun, this is only about the rest of the request: a worker may refuse to read it.
    request.on("error", (error) => reject(inWords(error)));
    request.end(body);
  });
}

async function textOf(response: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  let size = 0;
  try {
    for await (const chunk of response) {
      size += chunk.length;
      if (size > MAX_ANSWER_BYTES) throw new Error(`the answer has more than ${MAX_ANSWER_BYTES} bytes`);
      chunks.push(chunk);
    }
  } catch (error) {
    throw inWords(error);
  }
  return Buffer.concat(chunks).toString();
}

function inWords(error: unknown): Error {
  if (!(error instanceof Error)) return new Error(String(error));
  const isSilent = error.name === "AbortError" || error.name === "TimeoutError";
  if (isSilent) return new Error(`no answer within ${PATIENCE_MS / 1_000} s`, { cause: error });
  const why = "code" in error && typeof error.code === "string" ? error.code : error.message;
  return new Error(`no answer: ${why}`, { cause: error });
}
