import { createJsonlSink } from "@sallyport/adapters/file";
import { relayOutbox, type Store } from "@sallyport/engine";
import type { PublisherPlace } from "./publisher-messages.ts";
import { PublishingThread } from "./publishing-thread.ts";

/** As many messages a turn are sent without a thread: a house with fewer never needs one. */
const FEW = 400;

/**
 * Publishes what waits in a house's outbox, as CloudEvents in a file. A quiet house does it by itself; once there is
 * more at a time, it would take an eighth of the time that calls have, and a thread takes it over.
 */
export class EventPublisher {
  readonly #store: Store;
  readonly #place: PublisherPlace;
  #thread: PublishingThread | undefined;

  constructor(store: Store, place: PublisherPlace) {
    this.#store = store;
    this.#place = place;
  }

  /** Resolves once what waited is in the file; rejects when it could not be, and then it waits still. Not twice at a time. */
  async publish(): Promise<void> {
    if (this.#thread?.isOver) this.#thread = undefined;
    if (!this.#thread && (await this.#here({ most: FEW })) < FEW) return;
    this.#thread ??= new PublishingThread(this.#place, (position) => this.#store.outbox.delivered(position));
    await this.#thread.publish();
  }

  /** Publishes the rest and ends the thread. Rejects as `publish` does, with the thread ended. */
  async close(): Promise<void> {
    await this.#thread?.close();
    this.#thread = undefined;
    await this.#here();
  }

  #here(bounds?: { most: number }): Promise<number> {
    return relayOutbox(this.#store, createJsonlSink(this.#place.file), bounds);
  }
}
