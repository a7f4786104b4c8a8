import { describe, expect, it } from "vitest";
import { sourceThreadOptions } from "./source-thread.ts";

describe("a thread's surroundings", () => {
  it("have a compile cache when it runs from source, and whatever else the process has", () => {
    const { env } = sourceThreadOptions(new URL("./writer-thread.ts", import.meta.url));
    expect(env).toMatchObject({
      NODE_COMPILE_CACHE: expect.stringContaining("node_modules"),
      PATH: process.env.PATH,
    });
  });

  it("are the process's own when it is built", () => {
    expect(sourceThreadOptions(new URL("./writer-thread.js", import.meta.url))).toEqual({});
  });
});
