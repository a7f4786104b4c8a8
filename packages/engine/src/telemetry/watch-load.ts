import type { Attributes, GaugeReader, Meter } from "../ports/telemetry.ts";
import { createGauges } from "./instruments.ts";

/** How busy an engine is. */
export interface Load {
  /** Calls that run. */
  running: number;
  /** Calls whose callers wait for a place. */
  waiting: number;
  /** Accepted calls that nobody waits for; they are on record. */
  queued: number;
}

/** Lets a meter read the load whenever it is looked at. Returns how to stop. */
export function watchLoad(meter: Meter, load: () => Load, attributes: Attributes): () => void {
  const { active, queue } = createGauges(meter);
  const readActive: GaugeReader = (reading) => reading.observe(load().running, attributes);
  const readQueue: GaugeReader = (reading) => {
    const { waiting, queued } = load();
    reading.observe(waiting, { ...attributes, kind: "waiting" });
    reading.observe(queued, { ...attributes, kind: "queued" });
  };
  active?.addCallback(readActive);
  queue?.addCallback(readQueue);
  return () => {
    active?.removeCallback(readActive);
    queue?.removeCallback(readQueue);
  };
}
