import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { readJson } from "./json.ts";

const LIMITS = { maxBytes: 262_144, maxDepth: 32, maxValues: 20_000 };

function refusal(value: unknown) {
  const read = readJson(value, LIMITS);
  return read.ok ? undefined : read.failure;
}

function places(value: unknown): string[] | undefined {
  return refusal(value)?.issues?.map(({ path, reason }) => `${path} ${reason}`);
}

class Money {
  amount = 1;
}

describe("reading a value", () => {
  it("copies it, so that nothing the caller still holds is used [FR-REG-02]", () => {
    const raw = { list: [{ a: 1 }] };
    const read = readJson(raw, LIMITS);
    raw.list.push({ a: 2 });
    expect(read).toMatchObject({ ok: true, value: { list: [{ a: 1 }] } });
  });

  it("gives back any JSON value unchanged", () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        let hasForbiddenName = false;
        const plain = JSON.parse(JSON.stringify(value), (name, member) => {
          hasForbiddenName ||= name === "__proto__";
          return member;
        });
        const read = readJson(plain, { ...LIMITS, maxDepth: 100 });
        if (read.ok) expect(read.value).toEqual(plain);
        expect(read.ok).toBe(!hasForbiddenName);
      }),
    );
  });

  it("takes objects without a prototype and makes ordinary ones of them", () => {
    const read = readJson(Object.assign(Object.create(null), { a: 1 }), LIMITS);
    expect(read.ok && Object.getPrototypeOf(read.value)).toBe(Object.prototype);
  });

  it("counts bytes as UTF-8, names included", () => {
    const ascii = readJson({ aa: "bb" }, LIMITS);
    const wide = readJson({ é: "€" }, LIMITS);
    expect(ascii.ok && wide.ok && wide.bytes - ascii.bytes).toBe(1);
    expect(refusal("€".repeat(90_000))?.code).toBe("E3902");
    expect(refusal({ ["k".repeat(300_000)]: 1 })?.code).toBe("E3902");
    expect(refusal("a".repeat(260_000))).toBeUndefined();
  });
});

describe("a value that is not plain JSON is refused (E3901) [FR-REG-02]", () => {
  const cyclic: Record<string, unknown> = {};
  cyclic.self = { again: cyclic };
  const hidden = Object.defineProperty({}, "secret", { value: 1, enumerable: false });
  const cases: [string, unknown, string][] = [
    ["undefined", { a: undefined }, "/a is undefined, which JSON cannot hold"],
    ["a function", { a: [() => 1] }, "/a/0 is a function, which JSON cannot hold"],
    ["a symbol", { a: Symbol("x") }, "/a is a symbol, which JSON cannot hold"],
    ["a symbol as a name", { a: { [Symbol("x")]: 1 } }, "/a has a symbol as a property name"],
    ["a bigint", [1n], "/0 is a bigint, which JSON cannot hold"],
    ["NaN", { a: Number.NaN }, "/a is NaN, which JSON cannot hold"],
    ["infinity", Number.POSITIVE_INFINITY, " is Infinity, which JSON cannot hold"],
    ["a date", { at: new Date(0) }, "/at is an instance of a class"],
    ["an instance", [new Money()], "/0 is an instance of a class"],
    ["a subclass of Array", class extends Array {}.from([1]), " is an instance of a class"],
    ["a map", new Map(), " is an instance of a class"],
    ["a hole", Object.assign(new Array(3), { 0: 1, 2: 3 }), "/1 is a hole in the array"],
    ["a cycle", cyclic, "/self/again contains itself"],
    [
      "a prototype",
      JSON.parse('{"a":{"__proto__":{"admin":true}}}'),
      "/a/__proto__ is a property name that is not allowed",
    ],
    ["a lone surrogate", { "a/b": "x\ud800" }, "/a~1b holds a lone surrogate, so it is not well-formed text"],
    ["a lone surrogate in a name", { "\udc00": 1 }, "/\ufffd is a property name with a lone surrogate"],
    ["a hidden property", hidden, "/secret is a hidden property"],
    ["a proxy", { p: new Proxy({}, {}) }, "/p is a proxy, not plain data"],
  ];
  it.each(cases)("for %s", (_name, value, expected) => {
    expect(refusal(value)?.code).toBe("E3901");
    expect(places(value)).toEqual([expected]);
  });

  it("without running a getter or a trap", () => {
    let ran = 0;
    const count = () => {
      ran += 1;
      return 1;
    };
    const throwing = () => {
      throw new Error("trap");
    };
    const trapped = new Proxy({}, { ownKeys: throwing, get: throwing, getPrototypeOf: throwing });
    const revoked = Proxy.revocable({}, {});
    revoked.revoke();
    const computed = Object.defineProperty({}, "a", { get: count, enumerable: true });
    expect(places({ computed, b: Object.defineProperty([0], 0, { get: count }) })).toEqual([
      "/computed/a is computed by a getter",
      "/b/0 is computed by a getter",
    ]);
    expect(places([trapped, revoked.proxy])).toHaveLength(2);
    expect(ran).toBe(0);
  });

  it("naming every wrong place, up to twenty", () => {
    expect(places({ a: Number.NaN, b: [undefined, 1n] })).toHaveLength(3);
    expect(places(Array.from({ length: 1000 }, () => undefined))).toHaveLength(20);
  });
});

describe("a value over a limit is refused (E3902)", () => {
  const deep = (levels: number): unknown => (levels === 0 ? 1 : [deep(levels - 1)]);
  it.each<[string, unknown]>([
    ["depth", deep(33)],
    ["number of values", Array.from({ length: 20_000 }, () => 1)],
    ["length of a sparse array", new Array(2 ** 32 - 1)],
    ["bytes", ["x".repeat(300_000)]],
  ])("of %s", (_name, value) => {
    expect(refusal(value)?.code).toBe("E3902");
  });

  it("but not below it", () => {
    expect(readJson(deep(32), LIMITS).ok).toBe(true);
    expect(readJson(Array(19_999).fill(1), LIMITS).ok).toBe(true);
  });

  it("before shared parts multiply", () => {
    let doubled: unknown = "leaf";
    for (let level = 0; level < 30; level += 1) doubled = [doubled, doubled];
    const start = performance.now();
    expect(refusal(doubled)?.code).toBe("E3902");
    expect(performance.now() - start).toBeLessThan(10_000);
  });

  it("also where the limit is deeper than the stack", () => {
    const nested = JSON.parse(`${"[".repeat(200_000)}${"]".repeat(200_000)}`);
    const read = readJson(nested, { maxBytes: 1e9, maxDepth: 1e9, maxValues: 1e9 });
    expect(!read.ok && read.failure.code).toBe("E3902");
  });
});
