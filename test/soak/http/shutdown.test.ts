import { existsSync, readFileSync } from "node:fs";
import { connect } from "node:net";
import { fileURLToPath } from "node:url";
import { afterEach, describe, expect, it } from "vitest";
import { tracesOf } from "../traces.ts";
import { clinging } from "./clinging.ts";
import { readKept, recordedEnd } from "./kept-records.ts";
import { noSandbox } from "./no-sandbox.ts";
import { ServerFolder } from "./server-folder.ts";
import type { ServerProcess } from "./server-process.ts";
import { Talk, type Wish } from "./talk.ts";
import { watch } from "./watch-events.ts";

const SLOW = fileURLToPath(new URL("./slow-tools.ts", import.meta.url));

const STUBBORN = fileURLToPath(new URL("./stubborn-tools.ts", import.meta.url));

function config(shutdownSeconds: number): string {
  return `
durability: process
tools: [${SLOW}, ${STUBBORN}]
grants: [{ id: everything, tools: [slow, spin, cling] }]
limits: { threads: 16, concurrentCallsPerAgent: 1 }
http: { shutdownSeconds: ${shutdownSeconds} }
`;
}

const open: AsyncDisposable[] = [];
afterEach(async () => {
  for (const each of open.splice(0)) await each[Symbol.asyncDispose]();
});

async function makeRuntime(shutdownSeconds: number) {
  const server = await ServerFolder.make(config(shutdownSeconds));
  const talk = new Talk(server);
  open.push({
    [Symbol.asyncDispose]: async () => {
      talk[Symbol.dispose]();
      await server[Symbol.asyncDispose]();
    },
  });
  const life = await server.start();
  const slow = (key: string, ms: number, agent = "a"): Wish => ({
    tool: "slow",
    input: { key, ms, witness: server.path("witness") },
    agent,
  });
  /** Runs until the server's gate is opened. */
  const held = (key: string, agent: string): Wish => ({
    ...slow(key, 1, agent),
    input: { ...slow(key, 1).input, until: server.gate },
  });
  /** Accepted calls of so many agents, named a, b …, that are all held: each of them has no room for another. */
  const run = async (agents: string): Promise<string[]> => {
    const ids = await Promise.all([...agents].map((agent) => talk.accept(held(`running-${agent}`, agent))));
    await Promise.all(ids.map((id) => talk.untilRunning(id)));
    return ids;
  };
  return { server, talk, life, slow, held, run };
}

function witnessed(server: ServerFolder): string[] {
  const lines = readFileSync(server.path("witness"), "utf8").split("\n").slice(0, -1);
  return lines.map((line) => line.split(" ")[0] ?? "").sort();
}

async function phases(server: ServerFolder, ids: readonly string[]): Promise<(string | undefined)[]> {
  const { records } = await readKept(server, []);
  return ids.map((id) => {
    const record = records.get(id);
    return record && (record.closing ? recordedEnd(record).status : record.phase);
  });
}

async function stopped(life: ServerProcess, server: ServerFolder): Promise<void> {
  const { code, signal, stderr } = await life.gone;
  expect([code, signal], stderr).toEqual([0, null]);
  expect(life.log.at(-1)?.message).toBe("Everything is closed");
  expect(life.log.filter(({ level }) => level === "error")).toEqual([]);
  const { processes, sockets } = tracesOf(server.folder, life.pid);
  expect({ processes, sockets }).toEqual({ processes: [], sockets: [] });
}

describe("a server that is told to stop", () => {
  it("lets calls finish that run, answers them, takes no more, and leaves the queued to the next start [L3-EXE-5]", async () => {
    const { server, talk, life, slow, held, run } = await makeRuntime(60);
    const waited = talk.begin(held("waited", "z"));
    const running = await run("abcd");
    await talk.untilRunning(waited.id);
    const queued = await Promise.all([1, 2, 3].map((n) => talk.accept(slow(`queued-${n}`, 10))));
    life.send("SIGTERM");
    await life.logged(/Stopping/);
    await expect(talk.invoke(slow("late", 10))).rejects.toThrow(/ECONNREFUSED|hang up|ECONNRESET/);
    server.openGate();
    expect(await waited.answer).toMatchObject({ status: 200, body: { status: "success" } });
    await stopped(life, server);
    expect(await phases(server, running)).toEqual(running.map(() => "success"));
    expect(await phases(server, queued)).toEqual(queued.map(() => "queued"));
    const next = await server.start();
    for (const id of queued) expect(await talk.untilEnded(id)).toMatchObject({ status: "success" });
    const names = ["queued-1", "queued-2", "queued-3", "running-a", "running-b", "running-c", "running-d"];
    expect(witnessed(server)).toEqual([...names, "waited"]);
    next.send("SIGINT");
    await stopped(next, server);
  });

  it("ends calls that take longer than it may, on record, and answers those who wait [L3-EXE-5]", async () => {
    const { server, talk, life, slow } = await makeRuntime(1);
    const waited = talk.begin(slow("waited", 60_000, "b"));
    const keyed = talk.begin({ ...slow("keyed", 60_000, "c"), options: { idempotency_key: "k" } });
    const accepted = await talk.accept(slow("accepted", 60_000));
    const ids = [waited.id, keyed.id, accepted];
    await Promise.all(ids.map((id) => talk.untilRunning(id)));
    life.send("SIGTERM");
    const answers = await Promise.all([waited.answer, keyed.answer]);
    expect(answers.map(({ body }) => [body.status, body.error?.details.code])).toEqual([
      ["cancelled", "E3906"],
      ["cancelled", "E3906"],
    ]);
    await stopped(life, server);
    expect(await life.logged(/No call runs/)).toMatchObject({ context: { finished: 0, cut: 3 } });
    expect(await phases(server, ids)).toEqual(["cancelled", "cancelled", "cancelled"]);
  });

  it("ends a tool that never gives its thread back", async () => {
    const { server, talk, life } = await makeRuntime(1);
    const { id, answer } = talk.begin({ tool: "spin", input: { begun: server.path("begun") } });
    await expect.poll(() => existsSync(server.path("begun")), { timeout: 60_000 }).toBe(true);
    life.send("SIGTERM");
    expect((await answer).body).toMatchObject({ status: "cancelled" });
    await stopped(life, server);
    expect(await phases(server, [id])).toEqual(["cancelled"]);
  });

  it("ends a process that does not want to, and those it has started [FR-EXE-05]", async ({ skip }) => {
    const { server, talk, life } = await makeRuntime(1);
    if (life.isolation !== "LEVEL_2") skip(noSandbox());
    const { id, answer } = talk.begin({ tool: "cling" });
    await clinging(server, life);
    life.send("SIGTERM");
    expect((await answer).body).toMatchObject({ status: "cancelled" });
    await stopped(life, server);
    expect(await phases(server, [id])).toEqual(["cancelled"]);
  });

  it("does so at once when it is told again", async () => {
    const { server, talk, life, slow } = await makeRuntime(600);
    const waited = talk.begin(slow("waited", 60_000, "b"));
    const accepted = await talk.accept(slow("accepted", 60_000));
    await Promise.all([waited.id, accepted].map((id) => talk.untilRunning(id)));
    life.send("SIGTERM");
    await life.logged(/Stopping/);
    const toldAgainAt = performance.now();
    life.send("SIGTERM");
    expect((await waited.answer).body).toMatchObject({ status: "cancelled" });
    await stopped(life, server);
    expect(performance.now() - toldAgainAt).toBeLessThan(60_000);
    expect(await phases(server, [waited.id, accepted])).toEqual(["cancelled", "cancelled"]);
  });

  it("ends the streams of those who watch, after the last news", async () => {
    const { server, talk, life, slow, run } = await makeRuntime(60);
    const running = await run("abcd");
    const queued = await talk.accept(slow("queued", 10));
    const watched = [...running, queued].map((id) => watch(talk.client, id));
    await Promise.all(watched.map(({ opened }) => opened));
    life.send("SIGTERM");
    await life.logged(/Stopping/);
    server.openGate();
    const [first, , , , last] = await Promise.all(watched.map(({ ended }) => ended));
    expect(first?.events.at(-1)).toMatchObject({ event: "ended", data: { status: "success" } });
    expect(first?.isWhole).toBe(true);
    expect(last?.events.map(({ event }) => event)).not.toContain("ended");
    expect(last?.isWhole).toBe(true);
    await stopped(life, server);
  });

  it("answers who waits for a call that another has queued", async () => {
    const { server, talk, life, slow, run } = await makeRuntime(60);
    await run("a");
    const wish = { ...slow("queued", 10), options: { idempotency_key: "k" } };
    const queued = await talk.accept(wish);
    const second = talk.invoke(wish);
    // So that the request has come in: these went out after it.
    for (let turn = 0; turn < 50; turn += 1) await talk.client.ask({ path: "/healthz" });
    life.send("SIGTERM");
    const { status, body } = await second;
    expect([status, body.error?.details.code]).toEqual([503, "E3910"]);
    server.openGate();
    await stopped(life, server);
    expect(await phases(server, [queued])).toEqual(["queued"]);
  });

  it("is not held up by connections that say nothing, or not all", async () => {
    const { server, talk, life, slow } = await makeRuntime(120);
    const { body } = await talk.invoke(slow("done", 10));
    expect(body.status).toBe("success");
    const said = [
      "",
      "GET /healthz HTTP/1.1\r\nHo",
      "POST /v1/tools/invoke HTTP/1.1\r\nHost: localhost\r\ncontent-type: application/json\r\ncontent-length: 100\r\n\r\n{",
    ];
    const sockets = said.map((text) =>
      connect(server.port, "127.0.0.1", function (this: import("node:net").Socket) {
        this.write(text);
      }),
    );
    const gone = sockets.map(
      (socket) => new Promise((resolve) => socket.on("error", resolve).once("close", resolve).resume()),
    );
    await expect.poll(async () => (await talk.client.ask({ path: "/healthz" })).status).toBe(200);
    const toldAt = performance.now();
    life.send("SIGTERM");
    await stopped(life, server);
    await Promise.all(gone);
    expect(performance.now() - toldAt).toBeLessThan(60_000);
  });
});
