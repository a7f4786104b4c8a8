import { PassThrough } from "node:stream";
import { describe, expect, it } from "vitest";
import type { LoadedConfig } from "../config/load.ts";
import { createServerLog } from "./server-log.ts";

const SECRET = "sk-proj-abcdefghijklmnopqrstuvwxyz0123456789";

function logInto(settings: Partial<LoadedConfig["log"]> = {}, isTTY = false) {
  const stream = Object.assign(new PassThrough(), { isTTY });
  const log = createServerLog({ log: { level: "info", format: "auto", ...settings }, stream });
  const text = () => String(stream.read() ?? "");
  return {
    log,
    text,
    records: () =>
      text()
        .trim()
        .split("\n")
        .map((line) => JSON.parse(line)),
  };
}

describe("the server's log", () => {
  it("is one JSON object a line, with level, time, message and context by name", () => {
    const { log, records } = logInto();
    log.warn({ url: "/x", status: 503 }, "Something");
    log.info("Only words");
    expect(records()).toEqual([
      {
        level: "warn",
        timestamp: expect.stringMatching(/^\d{4}-\d\d-\d\dT.*Z$/),
        logger: "sallyport",
        context: { url: "/x", status: 503 },
        message: "Something",
      },
      expect.objectContaining({ level: "info", message: "Only words" }),
    ]);
  });

  it("holds no secret, wherever it stands [L3P2-3]", () => {
    const { log, text } = logInto();
    log.error({ token: SECRET, deep: { authorization: `Bearer ${SECRET}` } }, `It was ${SECRET}`);
    log.error({ err: new Error(`refused ${SECRET}`, { cause: new Error(SECRET) }) }, "failed");
    log.error(new Error(SECRET));
    log.info("with %s in it", SECRET);
    const written = text();
    expect(written.split("\n")).toHaveLength(5);
    expect(written).not.toContain("abcdefghij");
  });

  it("never fails, whatever it is given", () => {
    const { log, records } = logInto();
    const loop: Record<string, unknown> = { big: 1n };
    loop.loop = loop;
    const hostile = {
      get boom() {
        throw new Error("no");
      },
    };
    log.info({ loop, hostile, nothing: undefined }, "odd");
    expect(records()[0]).toMatchObject({ message: "odd", context: { loop: { loop: "[CIRCULAR]" } } });
  });

  it("is short lines at a terminal, or where that is asked for", () => {
    const { log, text } = logInto({}, true);
    log.info({ url: "http://127.0.0.1:1", err: new Error("not so") }, "Open\u001b[2J");
    log.warn({}, "Careful");
    const [open, careful] = text().split("\n");
    expect(open).toMatch(/^\d\d:\d\d:\d\d Open\\u001b\[2J {2}url=http:\/\/127.0.0.1:1 err="not so"$/);
    expect(careful).toMatch(/^\d\d:\d\d:\d\d .*warn.* Careful$/);
    const forced = logInto({ format: "json" }, true);
    forced.log.info("x");
    expect(forced.records()).toHaveLength(1);
    const text2 = logInto({ format: "text" });
    text2.log.info("x");
    expect(text2.text()).toMatch(/ x\n$/);
  });

  it("says no more than the level asks for, and can change its mind", () => {
    const { log, text } = logInto({ level: "warn" });
    log.info("quiet");
    expect(text()).toBe("");
    log.level = "info";
    log.info("loud");
    expect(text()).toContain("loud");
    const silent = logInto({ level: "silent" });
    silent.log.error("x");
    expect(silent.text()).toBe("");
  });
});
