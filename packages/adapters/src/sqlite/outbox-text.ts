import { lost } from "./failures.ts";

/*
 * A row of the outbox holds the batches of one transaction as text. Neither separator occurs in JSON: inside a text it is
 * escaped, and outside it is no white space.
 */
const BETWEEN_EVENTS = "\u001e";
const BETWEEN_BATCHES = "\u001d";

/** The tenant and its events as one text. Throws E3914 when an event is not JSON text. */
export function encodeBatch(tenant: string, events: readonly string[]): string {
  if (events.some((event) => event.includes(BETWEEN_EVENTS) || event.includes(BETWEEN_BATCHES)))
    throw lost("An event for the outbox holds a control character, so it is not JSON.");
  return [JSON.stringify(tenant), ...events].join(BETWEEN_EVENTS);
}

export function joinBatches(batches: readonly string[]): string {
  return batches.join(BETWEEN_BATCHES);
}

export function splitBatches(text: string): string[] {
  return text.split(BETWEEN_BATCHES);
}

export function decodeBatch(text: string): { tenant: string; events: string[] } {
  const [tenant = "", ...events] = text.split(BETWEEN_EVENTS);
  return { tenant: JSON.parse(tenant), events };
}

/** A sink's name in the list that a row keeps. */
export function sinkNames(list: string): string[] {
  return list.split(BETWEEN_EVENTS);
}

export function sinkList(names: readonly string[]): string {
  return names.join(BETWEEN_EVENTS);
}

/** Names a batch: its row, and its place in it. */
export function batchId(position: number, index: number): string {
  return `${position}.${index}`;
}

/** The places by row. */
export function placesOf(ids: readonly string[]): Map<number, Set<number>> {
  const places = new Map<number, Set<number>>();
  for (const id of ids) {
    const [position = Number.NaN, index = Number.NaN] = id.split(".").map(Number);
    places.set(position, (places.get(position) ?? new Set()).add(index));
  }
  return places;
}
