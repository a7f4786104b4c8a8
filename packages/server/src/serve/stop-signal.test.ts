import { EventEmitter } from "node:events";
import { describe, expect, it } from "vitest";
import { listenForSignals } from "./stop-signal.ts";

describe("signals to a server", () => {
  it("tell the first order to stop from the second, and either from a reload", async () => {
    const signals = new EventEmitter();
    let reloads = 0;
    const onReload = () => {
      reloads += 1;
    };
    const stopping = listenForSignals(signals, { onReload });
    signals.emit("SIGHUP");
    signals.emit("SIGINT", "SIGINT");
    expect(await stopping.first).toBe("SIGINT");
    signals.emit("SIGHUP");
    signals.emit("SIGTERM", "SIGTERM");
    expect(await stopping.second).toBe("SIGTERM");
    expect(reloads).toBe(2);
    stopping.done();
    expect(signals.eventNames()).toEqual([]);
  });

  it("say stop when the terminal it was started at is closed, and reload while it is open", async () => {
    const signals = new EventEmitter();
    let isThere = true;
    let reloads = 0;
    const onReload = () => {
      reloads += 1;
    };
    const stopping = listenForSignals(signals, { onReload, hasTerminal: () => isThere });
    signals.emit("SIGHUP");
    expect(reloads).toBe(1);
    isThere = false;
    signals.emit("SIGHUP");
    expect([await stopping.first, reloads]).toEqual(["SIGHUP", 1]);
    stopping.done();
  });

  it("say reload, always, to a server that never had a terminal", () => {
    const signals = new EventEmitter();
    let reloads = 0;
    const onReload = () => {
      reloads += 1;
    };
    const stopping = listenForSignals(signals, { onReload, hasTerminal: () => false });
    signals.emit("SIGHUP");
    signals.emit("SIGHUP");
    expect(reloads).toBe(2);
    stopping.done();
  });
});
