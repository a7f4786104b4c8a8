/* A job through BullMQ: added, run by a worker, its outcome told by Redis. */
import { Queue, QueueEvents, Worker } from "bullmq";

const NAME = "bench";

export async function open({ port }) {
  const connection = { host: "127.0.0.1", port: Number(port), maxRetriesPerRequest: null };
  const queue = new Queue(NAME, { connection });
  const events = new QueueEvents(NAME, { connection });
  const run = async ({ data: { a, b } }) => ({ result: a + b });
  const worker = new Worker(NAME, run, { connection, concurrency: 64 });
  await Promise.all([events.waitUntilReady(), worker.waitUntilReady()]);
  return {
    name: "BullMQ, Redis with AOF everysec",
    async call() {
      const job = await queue.add("add", { a: 2, b: 3 }, { removeOnComplete: 10_000 });
      await job.waitUntilFinished(events);
    },
    async close() {
      await Promise.all([worker.close(), queue.close(), events.close()]);
    },
  };
}
