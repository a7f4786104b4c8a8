import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, describe, expect, it } from "vitest";
import { Rounds, Slots } from "./rounds.ts";

interface Item {
  name: string;
  url: string;
}

const open: Rounds<Item>[] = [];
afterEach(async () => {
  for (const rounds of open.splice(0)) await rounds.close();
});

/** A store of items, of which those to one host hang. */
class Post {
  readonly items: Item[] = [];
  readonly told: string[] = [];
  /** How long it takes to look past one item. */
  msPerRow = 0;
  busyMs = 0;
  readonly rounds: Rounds<Item>;

  constructor() {
    this.rounds = new Rounds<Item>({
      take: (full) => this.#take(full),
      deliver: (item, signal) => this.#deliver(item, signal),
      onTrouble: (error) => this.told.push(String(error)),
      clock: { now: () => Date.now() },
      ...{ concurrent: 8, perHost: 2, pollMs: 500, graceMs: 0 },
    });
    open.push(this.rounds);
  }

  add(host: string, count: number): void {
    for (let nth = 0; nth < count; nth += 1)
      this.items.push({ name: `${host}-${this.items.length}`, url: `https://${host}/x` });
  }

  async #take(full: readonly string[]): Promise<Item | undefined> {
    const found = this.items.findIndex(({ url }) => !full.some((origin) => url.startsWith(origin)));
    const begunAt = performance.now();
    const passed = found === -1 ? this.items.length : found;
    if (passed * this.msPerRow > 0) await sleep(passed * this.msPerRow);
    this.busyMs += performance.now() - begunAt;
    return found === -1 ? undefined : this.items.splice(found, 1)[0];
  }

  async #deliver(item: Item, signal: AbortSignal): Promise<void> {
    if (item.url.includes("hanging")) {
      await new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve(), { once: true }));
      return;
    }
    await sleep(1);
    this.told.push(item.name);
  }
}

describe("rounds", () => {
  it("take only a part of the store's time while one host hangs", async () => {
    const post = new Post();
    post.add("hanging.example", 2_000);
    for (let nth = 0; nth < 10; nth += 1) post.add(`fine-${nth}.example`, 3);
    post.msPerRow = 0.01;
    const begunAt = performance.now();
    post.rounds.kick();
    await expect.poll(() => post.told.length, { timeout: 30_000 }).toBe(30);
    expect(new Set(post.told).size).toBe(30);
    expect(post.busyMs).toBeLessThan((performance.now() - begunAt) / 3);
  });

  it("find what comes later, also behind a host that hangs", async () => {
    const post = new Post();
    post.add("hanging.example", 500);
    post.rounds.kick();
    await sleep(20);
    post.add("late.example", 3);
    await expect.poll(() => post.told.length, { timeout: 30_000 }).toBe(3);
  });

  it("send everything to one host, each once", async () => {
    const post = new Post();
    post.add("fine.example", 700);
    post.rounds.kick();
    await expect.poll(() => post.told.length, { timeout: 50_000 }).toBe(700);
    expect(new Set(post.told).size).toBe(700);
  });
});

it("places are limited in all and for each origin, and come back", () => {
  const slots = new Slots({ most: 3, perHost: 2 });
  const [first] = ["https://a/1", "HTTPS://A:443/2", "https://b/x"].map((url) => slots.take(url));
  expect([slots.isFull, slots.full]).toEqual([true, ["https://a/"]]);
  first?.();
  expect([slots.isFull, slots.full]).toEqual([false, []]);
});
