import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, describe, expect, it } from "vitest";
import { type Due, Rounds } from "./rounds.ts";

interface Item extends Due {
  name: string;
}

const open: Rounds<Item>[] = [];
afterEach(async () => {
  for (const rounds of open.splice(0)) await rounds.close();
});

/** A store of items, of which those to one host hang; counts what was read of it. */
class Post {
  readonly items: Item[] = [];
  readonly told: string[] = [];
  rowsRead = 0;
  readonly rounds: Rounds<Item>;

  constructor() {
    this.rounds = new Rounds<Item>({
      nameOf: ({ name }) => name,
      due: async (by, limit) => this.#due(by, limit),
      deliver: (item, signal) => this.#deliver(item, signal),
      onTrouble: (error) => this.told.push(String(error)),
      clock: { now: () => Date.now() },
      ...{ concurrent: 8, perHost: 2, pollMs: 500, graceMs: 0 },
    });
    open.push(this.rounds);
  }

  add(host: string, count: number): void {
    for (let nth = 0; nth < count; nth += 1)
      this.items.push({ name: `${host}-${this.items.length}`, url: `https://${host}/x`, dueAt: 0 });
  }

  #due(by: number, limit: number): Item[] {
    const found = this.items.filter(({ dueAt }) => dueAt <= by).slice(0, limit);
    this.rowsRead += found.length;
    return found;
  }

  async #deliver(item: Item, signal: AbortSignal): Promise<void> {
    if (item.url.includes("hanging")) {
      await new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve(), { once: true }));
      return;
    }
    await sleep(1);
    this.items.splice(this.items.indexOf(item), 1);
    this.told.push(item.name);
  }
}

describe("rounds", () => {
  it("do not read the same again and again while one host hangs", async () => {
    const post = new Post();
    post.add("hanging.example", 2_000);
    for (let nth = 0; nth < 10; nth += 1) post.add(`fine-${nth}.example`, 10);
    post.rounds.kick();
    await expect.poll(() => post.told.length, { timeout: 30_000 }).toBe(100);
    expect(new Set(post.told).size).toBe(100);
    // Of 2100 items each look far reads some thousands; a look for each of the deliveries would read hundreds of thousands.
    expect(post.rowsRead).toBeLessThan(30_000);
  });

  it("find what comes later, also behind a host that hangs", async () => {
    const post = new Post();
    post.add("hanging.example", 500);
    post.rounds.kick();
    await sleep(20);
    post.add("late.example", 3);
    await expect.poll(() => post.told.length, { timeout: 30_000 }).toBe(3);
  });

  it("send everything to one host, more than is remembered of it, each once", async () => {
    const post = new Post();
    post.add("fine.example", 700);
    post.rounds.kick();
    await expect.poll(() => post.told.length, { timeout: 50_000 }).toBe(700);
    expect(new Set(post.told).size).toBe(700);
  });
});
