import { Readable } from "node:stream";
import { buffer } from "node:stream/consumers";
import { describe, expect, it } from "vitest";
import { OutputMeter } from "./run-sandbox.ts";

const chunks = (...texts: string[]) => Readable.from(texts.map((text) => Buffer.from(text)));

describe("an output meter", () => {
  it("hands on what is within the limit, both streams together, and tells once", async () => {
    let told = 0;
    const meter = new OutputMeter(10, () => told++);
    const out = await buffer(meter.through(chunks("123456"), "stdout"));
    const errors = await buffer(meter.through(chunks("abcdef", "gh"), "stderr"));
    expect([out.toString(), errors.toString()]).toEqual(["123456", "abcd"]);
    expect([told, meter.isExceeded]).toEqual([1, true]);
  });

  it("is not exceeded at the limit", async () => {
    const meter = new OutputMeter(4, () => expect.unreachable());
    expect((await buffer(meter.through(chunks("ab", "cd"), "stdout"))).toString()).toBe("abcd");
    expect(meter.isExceeded).toBe(false);
  });

  it("hands on everything where nothing is to end at the limit [FR-OUT-04]", async () => {
    const meter = new OutputMeter(4, undefined);
    expect((await buffer(meter.through(chunks("abc", "def", "gh"), "stdout"))).toString()).toBe("abcdefgh");
    expect(meter.isExceeded).toBe(false);
  });

  it("remembers the end of the error output", async () => {
    const meter = new OutputMeter(1e6, () => undefined);
    await buffer(meter.through(chunks("x".repeat(5000), " the end \n"), "stderr"));
    expect(meter.lastError).toHaveLength(2046);
    expect(meter.lastError.endsWith("the end")).toBe(true);
  });
});
