import { describe, expect, it } from "vitest";
import { redactLog } from "./redact.ts";

describe("values for a log [L3P2-3]", () => {
  it("are plain JSON, whatever they were", () => {
    const logged = redactLog({
      text: "a",
      whole: 1,
      notANumber: Number.NaN,
      endless: Number.NEGATIVE_INFINITY,
      big: 12345678901234567890n,
      sign: Symbol("s"),
      run: () => 1,
      nothing: undefined,
      none: null,
      when: new Date(0),
      never: new Date(Number.NaN),
      pattern: /a+/g,
      bytes: new Uint8Array([1, 2, 3]),
      buffer: new ArrayBuffer(8),
      later: Promise.resolve(1),
      weak: new WeakMap(),
      address: new URL("https://example.com/a"),
      boxed: Object("text"),
      list: Object.assign(new Array(4), { 0: 1, 1: undefined, 3: 4 }),
      set: new Set([1, "b"]),
    });
    expect(logged).toEqual({
      text: "a",
      whole: 1,
      notANumber: "NaN",
      endless: "-Infinity",
      big: "12345678901234567890",
      sign: "Symbol(s)",
      run: "[Function]",
      none: null,
      when: "1970-01-01T00:00:00.000Z",
      never: "Invalid Date",
      pattern: "/a+/g",
      bytes: "[3 bytes]",
      buffer: "[8 bytes]",
      later: "[Promise]",
      weak: "[Weak]",
      address: "https://example.com/a",
      boxed: "text",
      list: [1, null, null, 4],
      set: [1, "b"],
    });
  });

  it("keep the names of a map, so that its secrets are seen", () => {
    const map = new Map<unknown, unknown>([["password", "hunter2"]]);
    expect(redactLog(map)).toEqual({ password: "[REDACTED]" });
    expect(redactLog(map.set(1, "one"))).toEqual([
      ["password", "hunter2"],
      [1, "one"],
    ]);
  });

  it("tell of an error all that is known, without its secrets", () => {
    const cause = new TypeError("token=abc123");
    const error = Object.assign(new Error("refused: password=hunter2", { cause }), {
      code: "E1",
      apiKey: "k",
    });
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
    expect(redactLog([itself, fail, Object.create(null)])).toEqual([
      { toJSON: "[Function]" },
      "[Function]",
      {},
    ]);
  });

  it("are well-formed text, with __proto__ as an ordinary name", () => {
    const logged = redactLog(JSON.parse('{"__proto__":{"a\\ud800":"b\\udc00"}}'));
    expect(JSON.stringify(logged)).toBe('{"__proto__":{"a\ufffd":"b\ufffd"}}');
  });
});
