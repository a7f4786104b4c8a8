import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { settledHoldings } from "./fixtures/processes.ts";
import { sharedServer } from "./fixtures/shared-server.ts";
import { type SlowHabit, SlowSender } from "./fixtures/slow-sender.ts";
import { SOON } from "./fixtures/soon.ts";

/** Time enough for all of them to connect, also on a machine that is busy. */
const REQUEST_SECONDS = 6;
const SLACK_SECONDS = 25;
const SLOW = 200;
const CONNECTIONS = 300;

const server = sharedServer(`
http: { requestSeconds: ${REQUEST_SECONDS}, connections: ${CONNECTIONS} }
`);

const HEAD = "POST /v1/tools/invoke HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n";

const HABITS: SlowHabit[] = [
  { beginning: "", drip: "" },
  { beginning: "P", drip: "" },
  { beginning: `${HEAD}X-Slow: `, drip: "a" },
  { beginning: HEAD, drip: "X-Slow: a\r\n" },
  { beginning: `${HEAD}Content-Length: 9999\r\n\r\n`, drip: " " },
  { beginning: `${HEAD}Transfer-Encoding: chunked\r\n\r\n`, drip: "1\r\n \r\n" },
];

function crowd(count: number): SlowSender[] {
  const habit = (index: number) => HABITS[index % HABITS.length] ?? { beginning: "", drip: "" };
  return Array.from({ length: count }, (_, index) => new SlowSender(server().url, habit(index)));
}

/** Calls one after the other as long as it takes, and says how long each took. */
async function goodCallsUntil(end: Promise<unknown>): Promise<number[]> {
  const waits: number[] = [];
  let isOver = false;
  const done = end.then(() => {
    isOver = true;
  });
  while (!isOver) {
    const began = performance.now();
    const { status } = await server().invoke("echo", { n: waits.length });
    expect(status).toBe(200);
    waits.push(performance.now() - began);
    await sleep(20);
  }
  await done;
  return waits;
}

describe("two hundred slow senders", () => {
  it("are answered with 408 and dropped in time, while good calls go on", async () => {
    await server().invoke("echo", {});
    const { sockets: before } = await settledHoldings(server().child.pid);
    const slow = crowd(SLOW);
    await expect.poll(() => server().child.holdings.sockets, SOON).toBeGreaterThanOrEqual(before + SLOW);
    const over = Promise.all(slow.map((sender) => sender.over));
    const waits = await goodCallsUntil(over);
    const ends = await over;
    expect([...new Set(ends.map(({ status }) => status))]).toEqual(["408"]);
    expect(ends.filter(({ seconds }) => seconds > REQUEST_SECONDS + SLACK_SECONDS)).toEqual([]);
    expect(waits.length).toBeGreaterThan(2);
    expect(Math.max(...waits)).toBeLessThan(15_000);
    await expect.poll(() => server().child.holdings.sockets, SOON).toBeLessThanOrEqual(before);
  });
});

describe("more senders than there is room for", () => {
  it("are turned away, and the server serves again when they are gone", async () => {
    const { sockets: before } = await settledHoldings(server().child.pid);
    const senders = crowd(CONNECTIONS + 100);
    const ends = await Promise.all(senders.map(({ over }) => over));
    const count = (status: string) => ends.filter((end) => end.status === status).length;
    expect({ answered: count("408"), dropped: count("dropped") }).toEqual({
      answered: CONNECTIONS,
      dropped: 100,
    });
    expect((await server().invoke("echo", { n: 1 })).status).toBe(200);
    await expect.poll(() => server().child.holdings.sockets, SOON).toBeLessThanOrEqual(before);
  });
});
