import { EventEmitter } from "node:events";
import { describe, expect, it } from "vitest";
import { listenForSignals } from "./stop-signal.ts";

describe("signals to a server", () => {
  it("tell the first order to stop from the second, and either from a reload", async () => {
    const signals = new EventEmitter();
    let reloads = 0;
    const stopping = listenForSignals(signals, () => {
      reloads += 1;
    });
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
});
