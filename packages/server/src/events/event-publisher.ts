import { Worker } from "node:worker_threads";
import { createJsonlSink } from "@sallyport/adapters/events";
import { relayOutbox } from "@sallyport/engine";
import type { Store } from "@sallyport/engine/ports";
import { sourceThreadEnv } from "@sallyport/engine/threads";
import type { FromPublisher, PublisherPlace, ToPublisher } from "./publisher-messages.ts";

interface Publishing {
  resolve(): void;
  reject(error: Error): void;
}

/**
 * The server's end of the thread that publishes. `isOver` once the thread has ended, whyever; what it was publishing then
 * rejects, and another thread can take up where it left off. It keeps the process alive only while it publishes.
 */
class PublishingThread {
  readonly #worker: Worker;
  readonly #delivered: (position: number) => Promise<void>;
  #publishing: Publishing | undefined;
  #isOver = false;

  /** `delivered` is told how far the file has everything, and makes that durable. */
  constructor(place: PublisherPlace, delivered: (position: number) => Promise<void>) {
    this.#delivered = delivered;
    const file = import.meta.url.endsWith(".ts") ? "./publisher-thread.ts" : "./publisher-thread.js";
    const url = new URL(file, import.meta.url);
    this.#worker = new Worker(url, { workerData: place, env: { ...sourceThreadEnv(url), ...process.env } });
    this.#worker.on("message", (message: FromPublisher) => this.#hear(message));
    this.#worker.on("error", (cause) => this.#end(cause));
    this.#worker.on("exit", () => this.#end(new Error("The thread that publishes events has ended.")));
    this.#worker.unref();
  }

  get isOver(): boolean {
    return this.#isOver;
  }

  publish(): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#publishing = { resolve, reject };
      this.#worker.ref();
      this.#say({ kind: "publish" });
    });
  }

  async close(): Promise<void> {
    await this.#worker.terminate();
  }

  #hear(message: FromPublisher): void {
    if (message.kind === "sent") {
      this.#delivered(message.position).then(
        () => this.#say({ kind: "delivered" }),
        (error: unknown) => this.#say({ kind: "refused", why: String(error) }),
      );
      return;
    }
    const { resolve, reject } = this.#publishing ?? {};
    this.#publishing = undefined;
    this.#worker.unref();
    if (message.kind === "published") resolve?.();
    else reject?.(new Error(message.why));
  }

  #end(reason: Error): void {
    this.#isOver = true;
    this.#publishing?.reject(reason);
    this.#publishing = undefined;
  }

  #say(message: ToPublisher): void {
    this.#worker.postMessage(message);
  }
}

/** As many messages a turn are sent without a thread: a server with fewer never needs one. */
const FEW = 400;

/**
 * Publishes what waits in a server's outbox, as CloudEvents in a file. A quiet server does it by itself; once there is
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
