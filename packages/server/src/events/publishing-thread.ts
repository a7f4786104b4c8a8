import { Worker } from "node:worker_threads";
import type { FromPublisher, PublisherPlace, ToPublisher } from "./publisher-messages.ts";

interface Publishing {
  resolve(): void;
  reject(error: Error): void;
}

/**
 * The house's end of the thread that publishes. `isOver` once the thread has ended, whyever; what it was publishing then
 * rejects, and another thread can take up where it left off. It keeps the process alive only while it publishes.
 */
export class PublishingThread {
  readonly #worker: Worker;
  readonly #delivered: (position: number) => Promise<void>;
  #publishing: Publishing | undefined;
  #isOver = false;

  /** `delivered` is told how far the file has everything, and makes that durable. */
  constructor(place: PublisherPlace, delivered: (position: number) => Promise<void>) {
    this.#delivered = delivered;
    const file = import.meta.url.endsWith(".ts") ? "./publisher-thread.ts" : "./publisher-thread.js";
    this.#worker = new Worker(new URL(file, import.meta.url), { workerData: place });
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
