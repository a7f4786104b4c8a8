import { Agent, type IncomingHttpHeaders, request } from "node:http";
import type { JsonObject } from "@sallyport/protocol";

export interface Question {
  method?: "GET" | "POST";
  path: string;
  body?: object;
  headers?: Record<string, string>;
  signal?: AbortSignal;
}

export interface Answer<Body = JsonObject> {
  status: number;
  headers: IncomingHttpHeaders;
  body: Body;
}

/** A client that keeps its connections, as an agent's runtime does. */
export class Client implements Disposable {
  readonly port: number;
  readonly agent: Agent;

  constructor(port: number, { connections = 8 }: { connections?: number } = {}) {
    this.port = port;
    this.agent = new Agent({ keepAlive: true, maxSockets: connections });
  }

  /** Rejects when the connection could not be had or broke; every answer of the server resolves. */
  ask<Body = JsonObject>({ method = "GET", path, body, headers, signal }: Question): Promise<Answer<Body>> {
    const payload = body === undefined ? undefined : JSON.stringify(body);
    return new Promise((resolve, reject) => {
      const sent = request({
        host: "127.0.0.1",
        port: this.port,
        agent: this.agent,
        method: payload === undefined ? method : "POST",
        path,
        headers: { ...(payload !== undefined && { "content-type": "application/json" }), ...headers },
        ...(signal && { signal }),
      });
      sent.once("error", reject);
      sent.once("response", (response) => {
        let text = "";
        response.setEncoding("utf8");
        response.on("data", (chunk: string) => {
          text += chunk;
        });
        response.once("error", reject);
        response.once("end", () => {
          if (!response.complete) return reject(new Error("the answer broke off"));
          resolve({ status: response.statusCode ?? 0, headers: response.headers, body: read(text) });
        });
      });
      sent.end(payload);
    });
  }

  [Symbol.dispose](): void {
    this.agent.destroy();
  }
}

function read<Body>(text: string): Body {
  return (text === "" ? {} : JSON.parse(text)) as Body;
}
