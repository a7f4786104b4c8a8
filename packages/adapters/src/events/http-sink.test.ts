import { createServer, type IncomingMessage, type Server } from "node:http";
import { json } from "node:stream/consumers";
import type { CloudEvent } from "@sallyport/engine/ports";
import { eventSinkContract, outgoing, sampleEvent } from "@sallyport/engine/testing";
import { describe, expect, it } from "vitest";
import { createHttpSink, type HttpSinkOptions } from "./http-sink.ts";

/** A receiver of CloudEvents in every mode. */
class Receiver implements AsyncDisposable {
  readonly events: CloudEvent[] = [];
  readonly requests: IncomingMessage[] = [];
  status = 204;
  headers: Record<string, string> = {};
  #server: Server | undefined;
  port = 0;

  async start(): Promise<void> {
    const server = createServer(async (request, response) => {
      this.requests.push(request);
      const body = await json(request);
      if (this.status === 0) return;
      if (this.status < 300) this.events.push(...eventsIn(request, body));
      response.writeHead(this.status, this.headers).end("x".repeat(10_000));
    });
    await new Promise<void>((resolve) => void server.listen(this.port, "127.0.0.1", resolve));
    this.port = (server.address() as { port: number }).port;
    this.#server = server;
  }

  async stop(): Promise<void> {
    this.#server?.closeAllConnections();
    await new Promise((resolve) => this.#server?.close(resolve));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
  }
}

function eventsIn({ headers }: IncomingMessage, body: unknown): CloudEvent[] {
  const type = headers["content-type"];
  if (type?.startsWith("application/cloudevents-batch+json")) return body as CloudEvent[];
  if (type?.startsWith("application/cloudevents+json")) return [body as CloudEvent];
  const attributes = Object.entries(headers).flatMap(([name, value]) =>
    name.startsWith("ce-") ? [[name.slice(3), decodeURIComponent(String(value))]] : [],
  );
  return [{ ...Object.fromEntries(attributes), datacontenttype: type, data: body }];
}

async function open(mode: HttpSinkOptions["mode"]) {
  const receiver = new Receiver();
  await receiver.start();
  const url = `http://127.0.0.1:${receiver.port}/events`;
  return {
    receiver,
    sink: createHttpSink({
      url,
      ...(mode && { mode }),
      headers: { authorization: "Bearer t0ken" },
      timeoutMs: 2_000,
    }),
    received: async () => receiver.events,
    outage: { begin: () => receiver.stop(), end: () => receiver.start() },
    [Symbol.asyncDispose]: () => receiver[Symbol.asyncDispose](),
  };
}

for (const mode of ["batched", "structured", "binary"] as const) {
  eventSinkContract(`the HTTP sink in ${mode} mode`, () => open(mode));
}

describe("an HTTP sink", () => {
  it("sends what it was given with every request, and 100 events at a time", async () => {
    await using at = await open("batched");
    await at.sink.send(Array.from({ length: 250 }, (_, n) => outgoing(sampleEvent(`call-${n}`))));
    expect(at.receiver.requests.map(({ headers }) => headers.authorization)).toEqual(
      Array(3).fill("Bearer t0ken"),
    );
  });

  it.each([
    [500, "it answered 500"],
    [302, "it answered 302"],
    [401, "it answered 401"],
    [0, "no answer within 2000 ms"],
  ])(
    "rejects when the receiver answers %s, and tells neither path nor credential",
    async (status, reason) => {
      await using at = await open("batched");
      Object.assign(at.receiver, { status, headers: { location: "http://127.0.0.1:1/" } });
      const error = await at.sink.send([outgoing(sampleEvent("call-1"))]).catch((thrown: unknown) => thrown);
      expect(error).toMatchObject({ failure: { code: "E3304", message: expect.stringContaining(reason) } });
      expect(String(error)).not.toMatch(/t0ken|\/events/);
      expect(at.receiver.requests).toHaveLength(1);
    },
  );
});
