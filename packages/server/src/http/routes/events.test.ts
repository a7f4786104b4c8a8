import { once } from "node:events";
import { Readable } from "node:stream";
import { decode, type Field, type InvocationEvents, invocationEventFields } from "@sallyport/protocol";
import { describe, expect, it } from "vitest";
import type { Reply } from "../route.ts";

import type { EventTiming } from "./call-events.ts";
import { eventRoutes } from "./events.ts";
import { asking, ORIGIN } from "./fixtures/ask.ts";
import { type FixtureDoor, plainEngine } from "./fixtures/door.ts";
import { FixtureFeed } from "./fixtures/feed.ts";
import { opening } from "./fixtures/opening.ts";

/** An event as a client gets it. */
interface Told {
  id?: string;
  event: string;
  data: Record<string, unknown>;
}

/** The stream of an answer. */
function streamOf({ content }: Reply): Readable {
  if (content instanceof Readable) return content;
  throw new Error("the answer is no stream");
}

/** The events of a stream to its end, each once it has the promised shape. */
async function eventsOf(reply: Reply): Promise<Told[]> {
  const chunks: string[] = [];
  for await (const chunk of streamOf(reply)) chunks.push(String(chunk));
  return chunks.join("").split("\n\n").flatMap(readFrame);
}

function readFrame(text: string): Told[] {
  const lines = text
    .split("\n")
    .map((line) => [line.slice(0, line.indexOf(":")), line.slice(line.indexOf(":") + 2)]);
  const { id, event, data = "" }: Record<string, string | undefined> = Object.fromEntries(lines);
  if (event === undefined) return [];
  const field: Field<unknown> = invocationEventFields[event as keyof InvocationEvents];
  const value: unknown = JSON.parse(data);
  if (!decode(value, field).ok) throw new Error(`${event} is not as promised: ${data}`);
  return [{ ...(id !== undefined && { id }), event, data: Object(value) }];
}

const openDoor = opening();

const QUICK: EventTiming = { heartbeatMs: 20, lookAgainMs: 5 };

interface Watch {
  door: FixtureDoor;
  /** Asks for the events of call `c`. */
  watch(lastEventId?: string, signal?: AbortSignal): Promise<Reply>;
  /** What the engine has of the call. */
  call: { feed?: FixtureFeed; standing: FixtureStanding };
}

type FixtureStanding = NonNullable<Awaited<ReturnType<FixtureDoor["engine"]["standing"]>>>;

const OF = { tenant: "local", agent: "http", tool: "sum" };

/** A door whose engine has one call, `c`, that does what the test says. */
async function watching(feed?: FixtureFeed, timing = QUICK): Promise<Watch> {
  const door = await openDoor();
  const call: Watch["call"] = { standing: { of: OF, status: "running" }, ...(feed && { feed }) };
  door.parts.engine = {
    ...plainEngine(door.parts),
    watch: async () => call.feed,
    standing: async () => call.standing,
  };
  const ask = asking(eventRoutes(door.parts, timing));
  const watch = (lastEventId?: string, signal?: AbortSignal) =>
    ask("watchInvocation", {
      params: { invocation_id: "c" },
      headers: lastEventId === undefined ? {} : { "last-event-id": lastEventId },
      ...(signal && { signal }),
    });
  return { door, watch, call };
}

const names = (told: Told[]) => told.map(({ event }) => event);
const bytes = (...list: number[]) => Uint8Array.from(list);

describe("GET /v1/invocations/{invocation_id}/events", () => {
  it("tells a call of a real engine from its first state to its end [L3-API-2] [L3-EXE-5]", async () => {
    const door = await openDoor([
      {
        id: "slow",
        run: (_input, context) => {
          context.progress(50, "half");
          return "done";
        },
      },
    ]);
    const body = { tool_id: "slow", parameters: {}, execution_options: { async_mode: true } };
    const { json } = await door.ask("invokeTool", { body });
    const reply = await door.ask("watchInvocation", {
      params: { invocation_id: String(json.invocation_id) },
    });
    expect(reply.headers).toMatchObject({ "content-type": expect.stringContaining("text/event-stream") });
    const told = await eventsOf(reply);
    expect(told.filter(({ event }) => event === "state").map(({ data }) => data.state)).toEqual(
      expect.arrayContaining(["DECLARED", "EXECUTING", "COMPLETED"]),
    );
    expect(told.find(({ event }) => event === "progress")?.data).toMatchObject({
      percent: 50,
      phase: "half",
    });
    expect(told.at(-1)).toMatchObject({
      event: "ended",
      data: { status: "success", result_url: `${ORIGIN}/v1/invocations/${json.invocation_id}/result` },
    });
    const { epoch } = (await door.engine.watch(String(json.invocation_id))) ?? {};
    expect(told.every(({ id }) => id?.startsWith(`${epoch}.`))).toBe(true);
  });

  it("passes output on as text, with characters whole that were split over chunks", async () => {
    const feed = new FixtureFeed();
    feed.push(
      { kind: "output", stream: "stdout", chunk: bytes(0x41, 0xc3) },
      { kind: "output", stream: "stderr", chunk: bytes(0xff) },
      { kind: "output", stream: "stdout", chunk: bytes(0xa9) },
      { kind: "output", stream: "stdout", chunk: bytes(0xe2, 0x82) },
      { kind: "ended", status: "success" },
    );
    const { watch } = await watching(feed);
    const told = await eventsOf(await watch());
    expect(told.map(({ id, event, data }) => [id, event, data.chunk, data.encoding])).toEqual([
      ["e1.1", "stdout", "A", undefined],
      ["e1.2", "stderr", "/w==", "base64"],
      ["e1.3", "stdout", "é", undefined],
      [undefined, "stdout", "4oI=", "base64"],
      ["e1.5", "ended", undefined, undefined],
    ]);
  });

  it("goes on where the client left off, in the middle of a character too", async () => {
    const feed = new FixtureFeed();
    feed.push(
      { kind: "state", state: "EXECUTING" },
      { kind: "output", stream: "stdout", chunk: bytes(0x41, 0xc3) },
      { kind: "output", stream: "stdout", chunk: bytes(0xa9, 0x42) },
      { kind: "ended", status: "success" },
    );
    const { watch } = await watching(feed);
    const told = await eventsOf(await watch("e1.2"));
    expect(told.map(({ id, data }) => [id, data.chunk])).toEqual([
      ["e1.3", "éB"],
      ["e1.4", undefined],
    ]);
  });

  it.each(["other.2", "e1.99", "nonsense", "e1.-1"])(
    "starts anew after the id %s, and says so",
    async (id) => {
      const feed = new FixtureFeed();
      feed.push({ kind: "state", state: "EXECUTING" }, { kind: "ended", status: "error" });
      const { watch } = await watching(feed);
      expect(names(await eventsOf(await watch(id)))).toEqual(["reset", "state", "ended"]);
    },
  );

  it("tells how much was dropped before it was fetched", async () => {
    const feed = new FixtureFeed();
    const output = { kind: "output", stream: "stdout", chunk: bytes(0x41) } as const;
    feed.push(output, output, output, { kind: "ended", status: "success" });
    feed.drop(2);
    const { watch } = await watching(feed);
    const told = await eventsOf(await watch());
    expect(names(told)).toEqual(["omitted", "stdout", "ended"]);
    expect(told[0]?.data).toEqual({ count: 2 });
  });

  it("answers 204 to a client that has had everything, so that it does not come again", async () => {
    const feed = new FixtureFeed();
    feed.push({ kind: "ended", status: "success" });
    const { watch } = await watching(feed);
    expect((await watch("e1.1")).status).toBe(204);
  });

  it("tells what is on record of a call that is over [L3-API-2]", async () => {
    const door = await openDoor();
    const { json } = await door.ask("invokeTool", { body: { tool_id: "sum", parameters: { a: 1, b: 1 } } });
    const params = { invocation_id: String(json.invocation_id) };
    const told = await eventsOf(await door.ask("watchInvocation", { params }));
    expect(told[0]).toMatchObject({ id: "record.1", event: "state", data: { state: "DECLARED" } });
    expect(told.at(-1)).toMatchObject({ event: "ended", data: { status: "success" } });
    const headers = { "last-event-id": "record.2" };
    const rest = await eventsOf(await door.ask("watchInvocation", { params, headers }));
    expect(rest).toEqual(told.slice(2));
    const other = await eventsOf(
      await door.ask("watchInvocation", { params, headers: { "last-event-id": "e0.7" } }),
    );
    expect(names(other)).toEqual(["reset", ...names(told)]);
  });

  it("says where an open call waits that has no news here, until it has", async () => {
    const { watch, call } = await watching();
    call.standing = { of: OF, status: "pending_approval", approvalId: "a" };
    const reply = await watch();
    const stream = streamOf(reply);
    let seen = "";
    stream.on("data", (chunk) => {
      seen += String(chunk);
      if (seen.includes("WAITING") && !call.feed) {
        call.feed = new FixtureFeed();
        call.feed.push({ kind: "state", state: "EXECUTING" }, { kind: "ended", status: "success" });
      }
    });
    await new Promise((resolve) => stream.once("end", resolve));
    expect(seen.match(/^event: \w+$/gm)).toEqual(["event: state", "event: state", "event: ended"]);
  });

  it("keeps a quiet connection alive, and follows when the call gets another feed", async () => {
    const feed = new FixtureFeed();
    feed.push({ kind: "state", state: "EXECUTING" });
    const { watch, call } = await watching(feed);
    const stream = streamOf(await watch());
    let seen = "";
    stream.on("data", (chunk) => {
      seen += String(chunk);
      if (!seen.includes(": still here") || call.feed !== feed) return;
      call.feed = new FixtureFeed();
      call.feed.push({ kind: "ended", status: "cancelled" });
    });
    await new Promise((resolve) => stream.once("end", resolve));
    expect(seen).toContain("cancelled");
  });

  it("stops at once when the reader goes, and when the door closes", async () => {
    const feed = new FixtureFeed();
    const { watch } = await watching(feed, { heartbeatMs: 60_000, lookAgainMs: 60_000 });
    const left = streamOf(await watch());
    left.resume();
    await expect.poll(() => feed.waiting).toBe(1);
    left.destroy();
    await new Promise((resolve) => left.once("close", resolve));
    expect(feed.waiting).toBe(0);

    const closing = new AbortController();
    const cut = streamOf(await watch(undefined, closing.signal));
    cut.resume();
    await expect.poll(() => feed.waiting).toBe(1);
    closing.abort();
    await new Promise((resolve) => cut.once("end", resolve));
    expect(feed.waiting).toBe(0);
  });

  it("makes no more than the client takes", async () => {
    const feed = new FixtureFeed();
    const chunk = new Uint8Array(4_096).fill(0x61);
    for (let count = 0; count < 500; count += 1) feed.push({ kind: "output", stream: "stdout", chunk });
    const { watch } = await watching(feed);
    const stream = streamOf(await watch());
    await new Promise((resolve) => stream.once("readable", resolve));
    for (let turn = 0; turn < 50; turn += 1) await new Promise(setImmediate);
    expect(stream.readableLength).toBeLessThan(32 * 1024);
    expect(feed.looks).toBe(1);
    stream.destroy();
  });

  it("passes what goes wrong on as the stream's error", async () => {
    const { watch, door } = await watching();
    const reply = await watch();
    door.parts.engine = {
      ...door.parts.engine,
      standing: () => Promise.reject(new Error("the store is away")),
    };
    await expect(eventsOf(reply)).rejects.toThrow("the store is away");
  });

  it("ends once what its reader showed holds no longer, and sends nothing more [L3-PRM-1]", async () => {
    const feed = new FixtureFeed();
    feed.push({ kind: "progress", percent: 10 });
    const { door, watch } = await watching(feed);
    let isRevoked = false;
    door.parts.holds = () => !isRevoked;
    const stream = streamOf(await watch());
    let text = "";
    stream.on("data", (chunk) => {
      text += chunk;
    });
    await expect.poll(() => text).toContain('"percent":10');
    isRevoked = true;
    feed.push({ kind: "progress", percent: 20 });
    await once(stream, "end");
    expect(text).not.toContain('"percent":20');
  });

  it("ends a quiet stream too, with its next heartbeat", async () => {
    const { door, watch } = await watching(new FixtureFeed());
    let isRevoked = false;
    door.parts.holds = () => !isRevoked;
    const stream = streamOf(await watch());
    let text = "";
    stream.on("data", (chunk) => {
      text += chunk;
    });
    await expect.poll(() => text).toMatch(/^:/m);
    isRevoked = true;
    await once(stream, "end");
    expect(text).not.toContain("event:");
    expect(stream.errored).toBeNull();
  });
});
