import { hash } from "node:crypto";
import { describe, expect, it, vi } from "vitest";
import type { CloudEvent, EventSink, OutgoingEvent } from "../ports/index.ts";
import { crowd } from "./store-samples.ts";

/** A sink and what has arrived behind it so far, in order of arrival. */
export interface OpenSink extends AsyncDisposable {
  sink: EventSink;
  received(): Promise<CloudEvent[]>;
  /** Makes the destination unreachable, and reachable again; left out where it cannot be. */
  outage?: { begin(): Promise<void>; end(): Promise<void> };
}

/** An event of a call, with whatever data a test wants to see again. */
export function sampleEvent(
  id: string,
  { tenant = "acme", data = {} }: { tenant?: string; data?: object } = {},
) {
  const event: CloudEvent = {
    specversion: "1.0",
    id,
    type: "ai.agent.tool.invoked",
    source: "tool-execution-layer",
    time: "2026-11-18T10:00:00.000Z",
    datacontenttype: "application/json",
    partitionkey: tenant,
    data: { invocation_id: id, ...data },
  };
  return event;
}

/** An event as the outbox hands it to a sink. */
export function outgoing(event: CloudEvent): OutgoingEvent {
  return { tenant: event.partitionkey, json: JSON.stringify(event) };
}

const ODD_TEXTS = ["", "\u0000", "é 漢 🎉", 'a "quote" and 100 %', "two\nlines", "x".repeat(50_000)];

/** Every event arrives whole and in order of sending per tenant, at least once, and a failed send is told. */
export function eventSinkContract(name: string, open: () => Promise<OpenSink>): void {
  describe(`${name} keeps the contract of event sinks`, () => {
    it("delivers what was sent, once it resolves, in order for each tenant [L3-EVT-1]", async () => {
      await using at = await open();
      const tenants = ["acme", "büro", "c"];
      const events = Array.from({ length: 250 }, (_, n) =>
        sampleEvent(`call-${n}`, { tenant: tenants[n % tenants.length] ?? "" }),
      );
      const texts = events.map(outgoing);
      await Promise.all([at.sink.send(texts.slice(0, 100)), at.sink.send(texts.slice(100))]);
      const received = await at.received();
      for (const tenant of tenants) {
        const own = ({ partitionkey }: CloudEvent) => partitionkey === tenant;
        expect(received.filter(own)).toEqual(events.filter(own));
      }
    });

    it("takes an empty batch, and any text that JSON can hold", async () => {
      await using at = await open();
      await at.sink.send([]);
      const events = ODD_TEXTS.map((text, n) => sampleEvent(`odd-${n}`, { data: { text } }));
      await at.sink.send(events.map(outgoing));
      expect(await at.received()).toEqual(events);
    });

    it("takes more at a time than a destination takes in one request", async () => {
      await using at = await open();
      // Digests hardly compress: together they are more than a Kafka broker takes in a batch.
      const text = (n: number) => crowd(2_000, (part) => hash("sha256", `${n} ${part}`)).join("");
      const events = Array.from({ length: 30 }, (_, n) =>
        sampleEvent(`large-${n}`, { data: { text: text(n) } }),
      );
      await at.sink.send(events.map(outgoing));
      expect(await at.received()).toEqual(events);
    });

    it("leaves a duplicate recognisable by its id when it is sent again", async () => {
      await using at = await open();
      const event = sampleEvent("call-1:tool.succeeded");
      await at.sink.send([outgoing(event)]);
      await at.sink.send([outgoing(event)]);
      const ids = new Set((await at.received()).map(({ id }) => id));
      expect([...ids]).toEqual([event.id]);
    });

    it("rejects with words while its destination is down, and delivers afterwards [L3P2-4]", async ({
      skip,
    }) => {
      await using at = await open();
      const { outage } = at;
      if (!outage) return skip("this destination is never down");
      const [first, second] = [sampleEvent("before"), sampleEvent("after")];
      await at.sink.send([outgoing(first)]);
      await outage.begin();
      await expect(at.sink.send([outgoing(second)])).rejects.toThrow(/did not take the events/);
      await outage.end();
      // A server that accepts connections may still be starting.
      await vi.waitFor(() => at.sink.send([outgoing(second)]), { timeout: 60_000, interval: 200 });
      const ids = (await at.received()).map(({ id }) => id);
      expect(new Set(ids)).toEqual(new Set(["before", "after"]));
      expect(ids.indexOf("before")).toBeLessThan(ids.indexOf("after"));
    });
  });
}
