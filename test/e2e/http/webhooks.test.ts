import { readFileSync } from "node:fs";
import { join } from "node:path";
import { Webhook } from "standardwebhooks";
import { describe, expect, it } from "vitest";
import { type Received, Receiver } from "./fixtures/receiver.ts";
import { TestServer } from "./fixtures/server.ts";
import { sharedServer } from "./fixtures/shared-server.ts";
import { SOON } from "./fixtures/soon.ts";

const server = sharedServer("webhooks: { allowPrivate: true }\n");
const closed = sharedServer();

function callBack(callback_url: string, tool = "echo", more: object = {}) {
  return server().invoke(tool, { n: 1 }, { body: { execution_options: { callback_url }, ...more } });
}

/** The body of a callback, for whoever knows the server's secret; throws when it is not genuine. */
function verified(at: TestServer, { headers, body }: Received): Record<string, unknown> {
  const secret = readFileSync(join(at.report.stateFolder, "keys", "webhook.secret"), "utf8").trim();
  return new Webhook(secret).verify(body, headers as Record<string, string>) as Record<string, unknown>;
}

describe("a callback", () => {
  it("tells how a call ended, signed so that a library can check it [L3-API-1] [L3-EXE-5]", async () => {
    await using receiver = await new Receiver().open();
    const { status, body } = await callBack(`${receiver.url}/hook?x=1`);
    expect(status).toBe(202);
    await expect.poll(() => receiver.received.length, SOON).toBe(1);
    const [message] = receiver.received;
    if (!message) throw new Error("nothing was received");
    expect(message.path).toBe("/hook?x=1");
    expect(message.headers).toMatchObject({
      "content-type": "application/json",
      "webhook-id": expect.stringMatching(`^${body.invocation_id}~[0-9a-f]{16}$`),
    });
    const told = verified(server(), message);
    const { body: result } = await server().ask({ path: `/v1/invocations/${body.invocation_id}/result` });
    expect(told).toEqual(result);
    expect(() =>
      verified(server(), { ...message, body: message.body.replace("success", "error") }),
    ).toThrow();
  });

  it("tells of a failure too", async () => {
    await using receiver = await new Receiver().open();
    await callBack(receiver.url, "faulty", { operation: "throw" });
    await expect.poll(() => receiver.received.length, SOON).toBe(1);
    expect(JSON.parse(receiver.received[0]?.body ?? "")).toMatchObject({
      status: "error",
      error: { code: "tool_execution_error" },
    });
  });

  it("is not followed to where it is redirected", async () => {
    await using elsewhere = await new Receiver().open();
    await using receiver = await new Receiver(() => ({ status: 307, location: elsewhere.url })).open();
    const { body } = await callBack(receiver.url);
    const givenUp = new RegExp(`${body.invocation_id}.*given up`);
    await expect.poll(() => server().child.stderr, SOON).toMatch(givenUp);
    expect([receiver.received.length, elsewhere.received.length]).toEqual([1, 0]);
  });

  it("that was not delivered is delivered by the next server, under the same id", async () => {
    await using receiver = await new Receiver((number) =>
      number === 0 ? undefined : { status: 204 },
    ).open();
    await using restarted = await TestServer.open("webhooks: { allowPrivate: true }\n");
    const options = { execution_options: { callback_url: receiver.url } };
    const { body } = await restarted.invoke("echo", { n: 1 }, { body: options });
    await expect.poll(() => receiver.received.length, SOON).toBe(1);
    await restarted.stop();
    await restarted.start();
    await expect.poll(() => receiver.received.length, SOON).toBe(2);
    const ids = receiver.received.map(({ headers }) => headers["webhook-id"]);
    expect(ids[0]).toMatch(`${body.invocation_id}~`);
    expect(ids[1]).toBe(ids[0]);
    expect(receiver.received.map((message) => verified(restarted, message).status)).toEqual([
      "success",
      "success",
    ]);
  });
});

describe("a callback to where the server may not reach", () => {
  it.each([
    "http://127.0.0.1:9/",
    "http://localhost/",
    "https://127.0.0.1/",
    "https://[::1]/",
    "https://2130706433/",
    "https://169.254.169.254/latest/meta-data",
    "https://10.0.0.1/",
    "https://db.internal/",
    "http://public.example/",
    "https://user:pass@public.example/",
    "https://public.example:22/",
  ])("is refused before anything runs: %s", async (callback_url) => {
    const options = { execution_options: { callback_url } };
    const { status, body } = await closed().invoke("echo", {}, { body: options });
    expect([status, body.code, body.issues?.[0]?.path]).toEqual([
      400,
      "E3903",
      "/execution_options/callback_url",
    ]);
  });
});
