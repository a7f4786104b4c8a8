import { describe, expect, it, vi } from "vitest";
import { LruMap } from "./lru-map.ts";

describe("LruMap", () => {
  it("drops the entry that was used longest ago, by get or set", () => {
    const map = new LruMap<string, number>(2);
    map.set("a", 1);
    map.set("b", 2);
    map.get("a");
    map.set("c", 3);
    expect([...map]).toEqual([
      ["a", 1],
      ["c", 3],
    ]);
    map.set("a", 4);
    map.set("d", 5);
    expect([map.get("a"), map.get("c"), map.size]).toEqual([4, undefined, 2]);
  });

  it("drops the oldest entries one by one for ever, whatever was deleted, used again or cleared between", () => {
    const map = new LruMap<number, number>(3);
    const model: number[] = [];
    const use = (key: number) => {
      const at = model.indexOf(key);
      if (at >= 0) model.splice(at, 1);
      model.push(key);
      if (model.length > 3) model.shift();
    };
    for (let step = 0; step < 2_000; step += 1) {
      const key = (step * 7) % 11;
      if (step % 13 === 5 && map.get(key) !== undefined) use(key);
      else if (step % 17 === 3) {
        map.delete(key);
        if (model.includes(key)) model.splice(model.indexOf(key), 1);
      } else if (step % 501 === 500) {
        map.clear();
        model.length = 0;
      } else if (step % 13 !== 5) {
        map.set(key, step);
        use(key);
      }
      expect([...map].map(([kept]) => kept)).toEqual(model);
    }
  });

  it("makes a value once while it is kept", () => {
    const map = new LruMap<string, string>(1);
    const make = vi.fn((key: string) => key.toUpperCase());
    expect([map.getOrAdd("a", make), map.getOrAdd("a", make)]).toEqual(["A", "A"]);
    map.getOrAdd("b", make);
    map.getOrAdd("a", make);
    expect(make.mock.calls).toEqual([["a"], ["b"], ["a"]]);
  });

  it("forgets one entry or all, and keeps none without capacity", () => {
    const map = new LruMap<string, number>(2);
    map.set("a", 1);
    map.set("b", 2);
    expect([map.delete("a"), map.delete("a"), map.size]).toEqual([true, false, 1]);
    map.clear();
    expect(map.size).toBe(0);
    const none = new LruMap<string, number>(0);
    none.set("a", 1);
    expect(none.get("a")).toBeUndefined();
  });
});
