/** More of an error is of no use to anybody. */
const ERROR_BYTES = 64 * 1024;
const MARKER = "[REDACTED]";

/** An error of a provider with a bounded body, in which the secrets it was sent do not occur. */
export async function errorAnswer(response: Response, secrets: readonly string[]): Promise<Response> {
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
