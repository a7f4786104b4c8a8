import type { Saying } from "../fixtures/raw.ts";

/** What has to come back: a status and, of a refusal, its code. */
export type Due = readonly [status: number, code?: string];

/** One thing a stranger does, and what has to come of it. */
export interface HostileCase extends Saying {
  name: string;
  /** In order. None: the sender is gone before it could be told anything, or is not worth an answer. */
  answers: readonly Due[];
}

type Bytes = string | Uint8Array;

/** A case with one answer. */
export function hostile(name: string, sends: Bytes | readonly Bytes[], ...due: Due): HostileCase {
  return { name, sends: Array.isArray(sends) ? sends : [sends as Bytes], answers: [due] };
}

const HOST = "Host: 127.0.0.1";
const CLOSE = "Connection: close";
const JSON_TYPE = "Content-Type: application/json";

/** The head of a request; a Host and a Connection header are there unless others are given. */
export function head(line: string, headers: readonly string[] = []): string {
  const has = (name: string) => headers.some((header) => header.toLowerCase().startsWith(`${name}:`));
  const all = [...(has("host") ? [] : [HOST]), ...(has("connection") ? [] : [CLOSE]), ...headers];
  return `${[`${line} HTTP/1.1`, ...all].join("\r\n")}\r\n\r\n`;
}

export function get(path: string, ...headers: string[]): string {
  return head(`GET ${path}`, headers);
}

/** A POST with a body of JSON, of the length it has. */
export function post(path: string, body: Bytes, ...headers: string[]): Uint8Array {
  const bytes = Buffer.from(body);
  const has = headers.some((header) => /^content-type:/i.test(header));
  const all = [...(has ? [] : [JSON_TYPE]), ...headers, `Content-Length: ${bytes.length}`];
  return Buffer.concat([Buffer.from(head(`POST ${path}`, all), "latin1"), bytes]);
}

/** tool.invoke with this text for a body. */
export function invoke(body: Bytes, ...headers: string[]): Uint8Array {
  return post("/v1/tools/invoke", body, ...headers);
}

/** tool.invoke of the tool that gives back what it gets; the text stands where the parameters stand. */
export function echo(parameters: string): Uint8Array {
  return invoke(`{"tool_id":"echo","parameters":${parameters}}`);
}
