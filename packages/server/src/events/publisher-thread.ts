import { once } from "node:events";
import { type MessagePort, parentPort, workerData } from "node:worker_threads";
import { createJsonlSink } from "@sallyport/adapters/events";
import { relayOutbox } from "@sallyport/engine";
import { openStoreToRead } from "../runtime/store.ts";
import type { FromPublisher, PublisherPlace, ToPublisher } from "./publisher-messages.ts";

/**
 * The thread that publishes for a busy server. It reads the store by itself and writes the file; that a message has left
 * the outbox is written by whoever owns the store, which is asked.
 */
function serve(port: MessagePort, place: PublisherPlace): void {
  const say = (message: FromPublisher) => port.postMessage(message);
  port.on("message", ({ kind }: ToPublisher) => {
    if (kind !== "publish") return;
    publish(port, place).then(
      (count) => say({ kind: "published", count }),
      (error: unknown) =>
        say({ kind: "failed", why: error instanceof Error ? error.message : String(error) }),
    );
  });
}

async function publish(port: MessagePort, { stateFolder, file }: PublisherPlace): Promise<number> {
  const store = await openStoreToRead({ stateFolder });
  const delivered = async (position: number) => {
    port.postMessage({ kind: "sent", position } satisfies FromPublisher);
    const [answer] = (await once(port, "message")) as [ToPublisher];
    if (answer.kind === "refused") throw new Error(answer.why);
  };
  try {
    const outbox = { pending: store.outbox.pending, delivered };
    return await relayOutbox({ calls: store.calls, outbox }, createJsonlSink(file));
  } finally {
    await store.close();
  }
}

if (parentPort) serve(parentPort, workerData);
