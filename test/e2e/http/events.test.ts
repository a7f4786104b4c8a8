import { writeFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { EventReader, type SentEvent } from "./fixtures/event-reader.ts";
import { settledHoldings } from "./fixtures/processes.ts";
import { DATABASE_SOCKETS, IS_FLEET, TestServer } from "./fixtures/server.ts";
import { sharedServer } from "./fixtures/shared-server.ts";
import { SOON } from "./fixtures/soon.ts";

const server = sharedServer();
const ASYNC = { headers: { prefer: "respond-async" } };

async function accepted(at: TestServer, tool: string, parameters: object): Promise<string> {
  const { status, body } = await at.invoke(tool, parameters, ASYNC);
  expect(status).toBe(202);
  return `/v1/invocations/${body.invocation_id}`;
}

function watch(at: TestServer, path: string, lastEventId?: string): Promise<EventReader> {
  return EventReader.open(at.url, `${path}/events`, lastEventId);
}

const isProgress = ({ event }: SentEvent) => event === "progress";
const named = (events: SentEvent[], event: string) => events.filter((one) => one.event === event);
const phases = (events: SentEvent[]) => named(events, "progress").map(({ data }) => data.phase);

describe("the events of a call", () => {
  it("tell its states and its progress as they happen, and end with it [L3-API-2] [L3-EXE-5]", async () => {
    const gate = server().path("events.gate");
    const path = await accepted(server(), "courier", { gate });
    const reader = await watch(server(), path);
    expect(reader.headers).toMatchObject({
      "content-type": "text/event-stream; charset=utf-8",
      "cache-control": "no-store",
    });
    await reader.read(isProgress);
    expect(phases(reader.events)).toEqual(["fetching"]);
    writeFileSync(gate, "");
    await reader.read();
    expect(phases(reader.events)).toEqual(["fetching", "delivering"]);
    expect(named(reader.events, "state").map(({ data }) => data.state)).toEqual(
      expect.arrayContaining(["EXECUTING", "COMPLETED"]),
    );
    const last = reader.events.at(-1);
    expect(last).toMatchObject({
      event: "ended",
      data: { status: "success", result_url: `${server().url}${path}/result` },
    });
    expect(new Set(reader.events.map(({ id }) => id)).size).toBe(reader.events.length);
    const over = await watch(server(), path, last?.id);
    expect([over.status, await over.read()]).toEqual([204, []]);
  });

  it("carry what the tool's process writes, without breaking a character [L3-EXE-5]", async (context) => {
    if (server().report.isolation?.level !== "LEVEL_2")
      context.skip("this machine has no sandbox for processes");
    const reader = await watch(server(), await accepted(server(), "printer", {}));
    const events = await reader.read();
    const text = (stream: string) =>
      named(events, stream)
        .map(({ data }) => data.chunk)
        .join("");
    expect(text("stdout")).toBe([1, 2, 3, 4, 5, 6].map((n) => `out ${n} é\n`).join(""));
    expect(text("stderr")).toBe([1, 2, 3, 4, 5, 6].map((n) => `err ${n}\n`).join(""));
    expect(named(events, "stdout").length).toBeGreaterThan(1);
    expect(events.at(-1)).toMatchObject({ event: "ended", data: { status: "success" } });
  });

  it("go on where a cut connection left off, none twice and none missing [L3-API-2]", async () => {
    const gate = server().path("cut.gate");
    const path = await accepted(server(), "courier", { gate, steps: 12 });
    const first = await watch(server(), path);
    await first.read(isProgress);
    first.cut();
    writeFileSync(gate, "");
    const second = await watch(server(), path, first.events.at(-1)?.id);
    await second.read(({ data }) => data.phase === "step 6");
    second.cut();
    const third = await watch(server(), path, second.events.at(-1)?.id);
    await third.read();
    const all = [...first.events, ...second.events, ...third.events];
    const steps = Array.from({ length: 12 }, (_, index) => `step ${index + 1}`);
    expect(phases(all)).toEqual(["fetching", ...steps, "delivering"]);
    expect(new Set(all.map(({ id }) => id)).size).toBe(all.length);
    expect(named(all, "reset")).toEqual([]);
    expect(all.at(-1)?.event).toBe("ended");
  });

  it("can be read by many at once", async () => {
    const gate = server().path("many.gate");
    const path = await accepted(server(), "courier", { gate, steps: 5 });
    const readers = await Promise.all(Array.from({ length: 30 }, () => watch(server(), path)));
    const reading = readers.map((reader) => reader.read());
    writeFileSync(gate, "");
    const all = await Promise.all(reading);
    for (const events of all) expect(events).toEqual(all[0]);
  });

  it.each(["nonsense", "-1", "..", "a.b", "zzzzzzzz.99999999999999999", "record.999999", "\xe4.1"])(
    "are told from the beginning to a reader that claims to be at %j",
    async (place) => {
      const { body } = await server().invoke("echo", {});
      const reader = await watch(server(), `/v1/invocations/${body.invocation_id}`, place);
      const events = await reader.read();
      expect(reader.status).toBe(200);
      expect([events[0]?.event, events.at(-1)?.event]).toEqual(["reset", "ended"]);
    },
  );

  it("need not be asked for again by a reader that has had those on record", async () => {
    const { body } = await server().invoke("echo", {});
    const path = `/v1/invocations/${body.invocation_id}`;
    const events = await (await watch(server(), path, "")).read();
    expect(events.at(-1)?.event).toBe("ended");
    const rest = await (await watch(server(), path, events.at(-2)?.id)).read();
    expect(rest).toEqual(events.slice(-1));
    expect((await watch(server(), path, events.at(-1)?.id)).status).toBe(204);
  });

  it("of a call that is over are those on record, also after a restart", async () => {
    await using restarted = await TestServer.open();
    const gate = restarted.path("record.gate");
    const path = await accepted(restarted, "courier", { gate });
    const reader = await watch(restarted, path);
    await reader.read(isProgress);
    writeFileSync(gate, "");
    await reader.read();
    await restarted.stop();
    await restarted.start();
    const again = await watch(restarted, path, reader.events.at(-2)?.id);
    const events = await again.read();
    expect(events[0]?.event).toBe("reset");
    expect(events.at(-1)).toMatchObject({ event: "ended", data: { status: "success" } });
    const states = (all: SentEvent[]) =>
      named(all, "state")
        .map(({ data }) => data.state)
        .filter((state) => state !== "QUEUED");
    expect(states(events)).toEqual(states(reader.events));
  });

  it("end when the server stops, and the reader is let go", async () => {
    await using closing = await TestServer.open("http: { shutdownSeconds: 1 }\n");
    const path = await accepted(closing, "courier", { gate: closing.path("never.gate") });
    const reader = await watch(closing, path);
    await reader.read(isProgress);
    const stopped = closing.stop();
    const rest = await reader.read();
    // A server that does not run the call itself lets its readers go at once.
    const ends = IS_FLEET ? ["cancelled", undefined] : ["cancelled"];
    expect(ends).toContain(named(rest, "ended").at(-1)?.data.status);
    await stopped;
  });

  it("leave nothing open behind when readers go away", async () => {
    const gate = server().path("leave.gate");
    const path = await accepted(server(), "courier", { gate });
    await settledHoldings(server().child.pid);
    const before = server().child.holdings.sockets;
    const readers = await Promise.all(Array.from({ length: 40 }, () => watch(server(), path)));
    await Promise.all(readers.map((reader) => reader.read(isProgress)));
    expect(server().child.holdings.sockets).toBeGreaterThanOrEqual(before + 40);
    for (const reader of readers) reader.cut();
    await expect
      .poll(() => server().child.holdings.sockets, SOON)
      .toBeLessThanOrEqual(before + DATABASE_SOCKETS);
    writeFileSync(gate, "");
  });
});
