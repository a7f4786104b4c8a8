import { setTimeout as wait } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { FolderLog } from "./folder-log.ts";
import { eachOf, FolderTurns, Queue } from "./in-turn.ts";

describe("work in turns", () => {
  it("waits for work in the same folder, or one in it, and for no other", async () => {
    const turns = new FolderTurns();
    const order: string[] = [];
    const work = (folder: string, ms: number) =>
      turns.run(folder, async () => {
        order.push(`+${folder}`);
        await wait(ms);
        order.push(`-${folder}`);
      });
    await Promise.all([work("/a", 30), work("/a/b", 5), work("/ab", 5), work("/c", 5)]);
    expect(order.indexOf("+/a/b")).toBeGreaterThan(order.indexOf("-/a"));
    expect(order.indexOf("+/ab")).toBeLessThan(order.indexOf("-/a"));
    expect(order.indexOf("+/c")).toBeLessThan(order.indexOf("-/a"));
  });

  it("goes on after work that failed", async () => {
    const [turns, queue] = [new FolderTurns(), new Queue()];
    const broken = () => Promise.reject(new Error("broken"));
    await expect(turns.run("/a", broken)).rejects.toThrow("broken");
    await expect(queue.run(broken)).rejects.toThrow("broken");
    expect(await turns.run("/a", async () => 1)).toBe(1);
    expect(await queue.run(async () => 2)).toBe(2);
  });

  it("of many things ends with the first error, once all under way have ended", async () => {
    let running = 0;
    const work = async (item: number) => {
      running += 1;
      await wait(item);
      running -= 1;
      if (item === 5) throw new Error("five");
    };
    await expect(eachOf([1, 5, 20, 1, 1], 3, work)).rejects.toThrow("five");
    expect(running).toBe(0);
  });
});

describe("the log of what we did to folders", () => {
  const note = { folder: "/w/d", from: "10", to: "20", names: new Set(["ours"]) };
  const span = { since: 10n, now: "20" };

  it("spares a name when all that happened there was ours, and to other names", () => {
    const log = new FolderLog();
    log.add(note);
    expect(log.spares({ folder: "/w/d", name: "other" }, span)).toBe(true);
    expect(log.spares({ folder: "/w/d", name: "ours" }, span)).toBe(false);
    expect(log.spares({ folder: "/w", name: "other" }, span)).toBe(false);
  });

  it("does not when someone else changed the folder before, after or between", () => {
    const log = new FolderLog();
    log.add(note);
    log.add({ ...note, from: "25", to: "30" });
    expect(log.spares({ folder: "/w/d", name: "other" }, { since: 10n, now: "31" })).toBe(false);
    expect(log.spares({ folder: "/w/d", name: "other" }, { since: 10n, now: "30" })).toBe(false);
    expect(log.spares({ folder: "/w/d", name: "other" }, { since: 5n, now: "20" })).toBe(false);
  });
});
