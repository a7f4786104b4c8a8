import { describe, expect, it, vi } from "vitest";
import type { Bus } from "../ports/index.ts";

/** Buses of several processes over one backend. */
export interface OpenBuses extends AsyncDisposable {
  buses: readonly Bus[];
  /** Cuts every connection; left out where there is none. */
  cut?(): Promise<void>;
}

/** Messages reach every listener of every process that is connected; a lost one is allowed, a broken listener is not felt. */
export function busContract(name: string, open: () => Promise<OpenBuses>): void {
  /** Waits until each bus hears the others: connections are made in the background. */
  async function connected({ buses }: OpenBuses): Promise<void> {
    for (const bus of buses) {
      for (const other of buses) {
        let isHeard = false;
        const stop = other.subscribe("policy:updates", () => {
          isHeard = true;
        });
        await vi.waitFor(
          () => {
            bus.publish("policy:updates", {});
            expect(isHeard).toBe(true);
          },
          { timeout: 30_000, interval: 50 },
        );
        stop();
      }
    }
  }

  function listen(bus: Bus, prefix: string) {
    const heard: unknown[] = [];
    const stop = bus.subscribe("approvals:updates", (message) => {
      if (String(message.id).startsWith(prefix)) heard.push(message.id);
    });
    return { heard, stop };
  }

  describe(`${name} keeps the contract of buses`, () => {
    it("tells every listener of every process, in the order of one sender", async () => {
      await using at = await open();
      await connected(at);
      const listeners = at.buses.map((bus) => listen(bus, "a"));
      const ids = Array.from({ length: 200 }, (_, n) => `a${n}`);
      for (const id of ids) at.buses[0]?.publish("approvals:updates", { id });
      for (const { heard } of listeners)
        await vi.waitFor(() => expect(heard).toEqual(ids), { timeout: 30_000 });
    });

    it("tells nobody who has stopped listening or listens elsewhere, and survives a listener that throws", async () => {
      await using at = await open();
      await connected(at);
      const [first, last] = [at.buses[0], at.buses.at(-1)];
      if (!first || !last) throw new Error("no bus");
      const stopped = listen(last, "b");
      stopped.stop();
      const elsewhere: unknown[] = [];
      last.subscribe("grants:updates", (message) => void elsewhere.push(message));
      last.subscribe("approvals:updates", () => {
        throw new Error("a listener's own fault");
      });
      const { heard } = listen(last, "b");
      first.publish("approvals:updates", { id: "b1" });
      await vi.waitFor(() => expect(heard).toEqual(["b1"]), { timeout: 30_000 });
      expect([stopped.heard, elsewhere]).toEqual([[], []]);
    });

    it("carries any JSON, and of a message that is too long at least that there was one", async () => {
      await using at = await open();
      await connected(at);
      const heard: unknown[] = [];
      at.buses.at(-1)?.subscribe("token:revocations", (message) => void heard.push(message));
      const odd = { text: "\u0000 é 漢 🎉 \ud800 ' \\", list: [1, null, { a: true }] };
      at.buses[0]?.publish("token:revocations", odd);
      at.buses[0]?.publish("token:revocations", { long: "x".repeat(100_000) });
      await vi.waitFor(() => expect(heard).toHaveLength(2), { timeout: 30_000 });
      expect(heard[0]).toEqual(odd);
    });

    it("goes on by itself after its connections were cut", async ({ skip }) => {
      await using at = await open();
      await connected(at);
      if (!at.cut) return skip("there is no connection to cut");
      await at.cut();
      await connected(at);
    });
  });
}
