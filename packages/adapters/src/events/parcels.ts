import type { EventSink, OutgoingEvent } from "@sallyport/engine/ports";

/**
 * The events in order, in parcels of at most `most` events and about `chars` characters. A larger event goes alone: a
 * destination that bounds its requests then refuses that one at most.
 */
export function* parcels(
  events: readonly OutgoingEvent[],
  { most, chars }: { most: number; chars: number },
): Generator<OutgoingEvent[]> {
  let parcel: OutgoingEvent[] = [];
  let size = 0;
  for (const event of events) {
    const isFull = parcel.length >= most || size + event.json.length > chars;
    if (isFull && parcel.length > 0) {
      yield parcel;
      parcel = [];
      size = 0;
    }
    parcel.push(event);
    size += event.json.length;
  }
  if (parcel.length > 0) yield parcel;
}

/** The same, one call after the other: of two sends at once a failing one could end up behind the other. */
export function inTurn(send: EventSink["send"]): EventSink["send"] {
  let previous: Promise<unknown> = Promise.resolve();
  return (events, signal) => {
    const turn = previous.then(() => send(events, signal));
    previous = turn.catch(() => undefined);
    return turn;
  };
}
