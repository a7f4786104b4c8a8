import { createServer, type RequestListener } from "node:http";
import { type AddressInfo, createServer as createTcpServer, type Socket } from "node:net";
import { buffer } from "node:stream/consumers";
import { blobsContract } from "@sallyport/engine/testing";
import { afterAll, beforeAll, describe, expect, it } from "vitest";

import { S3_ACCESS } from "../../../../scripts/service-table.ts";
import { reasonToSkip, type StartedService, startService } from "../../../../scripts/services.ts";

import { openS3Blobs, type S3BlobsOptions } from "./index.ts";

const reason = reasonToSkip("versitygw");
const X = new TextEncoder().encode("x");
const { accessKeyId, secretAccessKey, region, bucket } = S3_ACCESS;

let server: StartedService;
let rooms = 0;

function openAt(port: number, options: Partial<S3BlobsOptions> = {}) {
  const endpoint = `http://127.0.0.1:${port}`;
  const credentials = () => ({ accessKeyId, secretAccessKey });
  return openS3Blobs({
    endpoint,
    region,
    bucket,
    plainHttp: true,
    credentials,
    timeoutMs: 5_000,
    ...options,
  });
}

/** Every room has a prefix of its own in the one bucket. */
async function openRoom() {
  rooms += 1;
  return {
    blobs: openAt(server.port, { prefix: `room-${rooms}/` }),
    [Symbol.asyncDispose]: async () => undefined,
  };
}

describe.skipIf(reason !== undefined)(`versitygw${reason ? ` (${reason})` : ""}`, () => {
  beforeAll(async () => {
    server = await startService("versitygw");
  });
  afterAll(() => server?.[Symbol.asyncDispose]());

  blobsContract("a bucket of an S3-compatible server", openRoom);

  it.each<[string, Partial<S3BlobsOptions>, RegExp]>([
    [
      "a wrong secret",
      { credentials: () => ({ accessKeyId, secretAccessKey: "wrong-secret" }) },
      /refuses the credentials \(403/,
    ],
    [
      "a wrong key",
      { credentials: () => ({ accessKeyId: "wrong-key", secretAccessKey }) },
      /refuses the credentials \(403 InvalidAccessKeyId/,
    ],
    ["a wrong bucket", { bucket: "no-such-bucket" }, /bucket no-such-bucket at http:.* does not exist/],
    ["a wrong clock", { now: () => Date.now() - 86_400_000 }, /sees another time than this machine/],
  ])("says what is wrong with %s, and shows no credential", async (_, options, words) => {
    const blobs = openAt(server.port, { prefix: "wrong/", ...options });
    for (const use of [() => blobs.put("a.txt", X), () => blobs.get("a.txt"), () => blobs.list("")]) {
      const error = await use().catch((one: unknown) => one);
      expect(error).toMatchObject({ failure: { code: "E3949", message: expect.stringMatching(words) } });
      expect(JSON.stringify(error)).not.toMatch(/wrong-secret|wrong-key|test-secret-key|Signature=/);
    }
    expect(await openAt(server.port, { prefix: "wrong/" }).list("")).toEqual({ blobs: [] });
  });

  it("goes on after the server was away, and passes over keys of others", async () => {
    const blobs = openAt(server.port, { prefix: "many/" });
    await blobs.put("a.txt", X);
    await openAt(server.port, { prefix: "many/Not-Ours-" }).put("b.txt", X);
    await server.kill();
    await expect(blobs.get("a.txt")).rejects.toMatchObject({
      failure: { code: "E3949", message: expect.stringContaining("ECONNREFUSED") },
    });
    await server.restart();
    expect((await blobs.list("")).blobs.map(({ name }) => name)).toEqual(["a.txt"]);
  });

  it("refuses a body that is too large before a byte is sent", async () => {
    const blobs = openAt(server.port, { prefix: "large/", maxBytes: 10 });
    await expect(blobs.put("a.txt", new Uint8Array(11))).rejects.toMatchObject({
      failure: { code: "E3949" },
    });
    expect(await blobs.get("a.txt")).toBeUndefined();
  });
});

describe("a server that is no good", () => {
  it.each([
    ["ftp://s3.example", {}],
    ["http://s3.example", { plainHttp: false }],
    ["https://key:secret@s3.example", {}],
    ["https://s3.example?x=1", {}],
    ["s3.example", {}],
    ["https://s3.example", { bucket: "../b" }],
  ])("is not configured: %s %j [D-16]", (endpoint, options) => {
    expect(() => openAt(1, { endpoint, ...options })).toThrow(
      expect.objectContaining({ failure: expect.objectContaining({ code: "E3919" }) }),
    );
  });

  it.each([
    [307, `http://127.0.0.1:9/${bucket}/a.txt`],
    [301, "https://elsewhere.example/"],
  ])("is not followed elsewhere: %i", async (status, location) => {
    await using at = await answering((_, response) => response.writeHead(status, { location }).end());
    const failed = { failure: { message: expect.stringContaining("is not followed") } };
    await expect(at.blobs.get("a.txt")).rejects.toMatchObject(failed);
    await expect(at.blobs.put("a.txt", X)).rejects.toMatchObject(failed);
    expect(at.requests()).toBe(2);
  });

  it("is asked again while it is overloaded, and not for ever", async () => {
    let left = 2;
    await using at = await answering((_, response) => {
      if (left-- > 0) return response.writeHead(503).end("<Error><Code>SlowDown</Code></Error>");
      return response.writeHead(200).end("body");
    });
    expect(await text(at.blobs.get("a.txt"))).toBe("body");
    left = 99;
    await expect(at.blobs.put("a.txt", X)).rejects.toMatchObject({
      failure: { message: expect.stringContaining("503 SlowDown") },
    });
    expect(at.requests()).toBe(3 + 4);
  });

  it("cannot pass off another body or part of one as the blob", async () => {
    await using at = await answering((_, response) => {
      response.writeHead(200, { "x-amz-meta-sha256": "0".repeat(64) }).end("forged");
    });
    await expect(text(at.blobs.get("a.txt"))).rejects.toMatchObject({ failure: { code: "E3949" } });
    await using dropping = await listening((socket) => {
      socket.once("data", () => {
        socket.write("HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nten bytes.", () => socket.destroy());
      });
    });
    await expect(text(dropping.blobs.get("a.txt"))).rejects.toMatchObject({ failure: { code: "E3949" } });
    await expect(dropping.blobs.list("")).rejects.toMatchObject({ failure: { code: "E3949" } });
  });

  it("is given up when it hangs up during a body, or says nothing any more", async () => {
    await using hanging = await listening((socket) => socket.once("data", () => socket.destroy()));
    await expect(hanging.blobs.put("a.txt", new Uint8Array(3_000_000))).rejects.toMatchObject({
      failure: { code: "E3949", message: expect.stringContaining("cannot be reached") },
    });
    await using silent = await listening((socket) => socket.resume(), { timeoutMs: 50 });
    await expect(silent.blobs.get("a.txt")).rejects.toMatchObject({
      failure: { message: expect.stringContaining("no answer in time") },
    });
    await using stalled = await listening(
      (socket) => socket.once("data", () => socket.write("HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nhalf")),
      { timeoutMs: 50 },
    );
    await expect(text(stalled.blobs.get("a.txt"))).rejects.toMatchObject({ failure: { code: "E3949" } });
  });
});

it("a blob that nobody wants to read any more keeps no connection", async () => {
  const closed = Promise.withResolvers<void>();
  await using at = await listening((socket) => {
    socket.once("close", closed.resolve).once("data", () => {
      socket.write("HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nhalf");
    });
  });
  await (await at.blobs.get("a.txt"))?.cancel();
  await closed.promise;
});

async function text(opened: ReturnType<ReturnType<typeof openAt>["get"]>): Promise<string | undefined> {
  const stream = await opened;
  return stream && (await buffer(stream)).toString();
}

async function answering(answer: (...given: Parameters<RequestListener>) => unknown) {
  let requests = 0;
  const http = createServer((request, response) => {
    requests += 1;
    request.resume().once("end", () => answer(request, response));
  });
  await new Promise<void>((resolve) => void http.listen(0, "127.0.0.1", resolve));
  return {
    blobs: openAt((http.address() as AddressInfo).port),
    requests: () => requests,
    async [Symbol.asyncDispose]() {
      http.closeAllConnections();
      await new Promise((resolve) => void http.close(resolve));
    },
  };
}

async function listening(serve: (socket: Socket) => unknown, options: Partial<S3BlobsOptions> = {}) {
  const sockets = new Set<Socket>();
  const tcp = createTcpServer((socket) => {
    sockets.add(socket.on("error", () => undefined));
    serve(socket);
  });
  await new Promise<void>((resolve) => void tcp.listen(0, "127.0.0.1", resolve));
  return {
    blobs: openAt((tcp.address() as AddressInfo).port, options),
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => void tcp.close(resolve));
    },
  };
}
