import { describe, expect, it } from "vitest";
import { redactLog } from "./redact.ts";

describe("values for a log [L3P2-3]", () => {
  it("are plain JSON, whatever they were", () => {
    const values: [unknown, unknown][] = [
      ["a", "a"],
      [1, 1],
      [Number.NaN, "NaN"],
      [Number.NEGATIVE_INFINITY, "-Infinity"],
      [12345678901234567890n, "12345678901234567890"],
      [Symbol("s"), "Symbol(s)"],
      [() => 1, "[Function]"],
      [null, null],
      [new Date(0), "1970-01-01T00:00:00.000Z"],
      [new Date(Number.NaN), "Invalid Date"],
      [/a+/g, "/a+/g"],
      [new Uint8Array([1, 2, 3]), "[3 bytes]"],
      [new ArrayBuffer(8), "[8 bytes]"],
      [Promise.resolve(1), "[Promise]"],
      [new WeakMap(), "[Weak]"],
      [new URL("https://example.com/a"), "https://example.com/a"],
      [Object("text"), "text"],
      [Object.assign(new Array(4), { 0: 1, 1: undefined, 3: 4 }), [1, null, null, 4]],
      [new Set([1, "b"]), [1, "b"]],
    ];
    for (const [value, logged] of values) expect(redactLog({ value })).toEqual({ value: logged });
    expect(redactLog({ nothing: undefined })).toEqual({});
  });

  it("keep the names of a map, so that its secrets are seen", () => {
    const map = new Map<unknown, unknown>([["password", "hunter2"]]);
    expect(redactLog(map)).toEqual({ password: "[REDACTED]" });
    const pairs = [...map.set(1, "one")];
    expect(redactLog(map)).toEqual(pairs);
  });

  it("tell of an error all that is known, without its secrets", () => {
    const cause = new TypeError("token=abc123");
    const own = { code: "E1", apiKey: "k" };
    const error = Object.assign(new Error("refused: password=hunter2", { cause }), own);
    const logged = redactLog(error) as Record<string, unknown>;
    expect(logged).toMatchObject({
      name: "Error",
      message: "refused: password=[REDACTED]",
      code: "E1",
      apiKey: "[REDACTED]",
      cause: { name: "TypeError", message: "token=[REDACTED]" },
    });
    expect(logged.stack).toContain("log-value.test.ts");
    expect(JSON.stringify(logged)).not.toMatch(/hunter2|abc123/);
    expect(redactLog(new AggregateError([cause], "all"))).toMatchObject({ errors: [{ name: "TypeError" }] });
  });

  it("are cut where they are endless: in themselves, in depth, in number", () => {
    const self: Record<string, unknown> = { a: 1 };
    self.self = self;
    self.list = [self];
    expect(redactLog(self)).toEqual({ a: 1, self: "[CIRCULAR]", list: ["[CIRCULAR]"] });

    let deep: unknown = "password=hunter2";
    for (let level = 0; level < 10_000; level += 1) deep = { deep };
    expect(JSON.stringify(redactLog(deep))).toMatch(/"\[TOO DEEP\]"\}{64}$/);

    const wide = redactLog(Array.from({ length: 100_000 }, (_, at) => at)) as unknown[];
    expect(wide.length).toBeLessThan(60_000);
    expect(wide.at(-1)).toBe("[CUT]");
    expect((redactLog(new Array(4_000_000_000)) as unknown[]).at(-1)).toBe("[CUT]");
    expect(redactLog(new Set(Array.from({ length: 100_000 }, (_, at) => at)))).toContain("[CUT]");
  });

  it("say the same of an object that is there twice, which is no cycle", () => {
    const twice = { a: 1 };
    expect(redactLog([twice, twice])).toEqual([{ a: 1 }, { a: 1 }]);
  });

  it("run no getter and no trap, and toJSON once", () => {
    let runs = 0;
    const count = () => {
      runs += 1;
      return { password: "hunter2" };
    };
    const value = {
      get own() {
        return count();
      },
      list: Object.defineProperty([0], 0, { get: count, enumerable: true }),
      proxy: new Proxy({}, { get: count, ownKeys: () => [String(count())] }),
    };
    expect(redactLog(value)).toEqual({ own: "[Getter]", list: ["[Getter]"], proxy: "[Proxy]" });
    expect(runs).toBe(0);
    expect(redactLog({ toJSON: count })).toEqual({ password: "[REDACTED]" });
    expect(runs).toBe(1);
  });

  it("never throw, however hostile", () => {
    const fail = () => {
      throw new Error("trap");
    };
    class Wrong extends Error {
      override get message(): string {
        return fail();
      }
    }
    const hostile = [{ toJSON: fail }, new Wrong(), Object.defineProperty(/x/, "source", { get: fail })];
    expect(redactLog(hostile)).toEqual(["[UNREADABLE]", "[UNREADABLE]", expect.any(String)]);
    const itself: { toJSON(): unknown } = { toJSON: () => itself };
    const logged = [{ toJSON: "[Function]" }, "[Function]", {}];
    expect(redactLog([itself, fail, Object.create(null)])).toEqual(logged);
  });

  it("are well-formed text, with __proto__ as an ordinary name", () => {
    const logged = redactLog(JSON.parse('{"__proto__":{"a\\ud800":"b\\udc00"}}'));
    expect(JSON.stringify(logged)).toBe('{"__proto__":{"a\ufffd":"b\ufffd"}}');
  });
});
