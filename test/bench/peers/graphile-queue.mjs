/*
 * A job through graphile-worker with LISTEN/NOTIFY: added, run by a worker, its completion told. The worker tells it
 * when it has sent the completion to PostgreSQL, before it is written, so this is a little too good.
 */
import { EventEmitter } from "node:events";
import { Logger, run } from "graphile-worker";

export async function open({ url }) {
  const events = new EventEmitter();
  const waiting = new Map();
  const runner = await run({
    connectionString: url,
    maxPoolSize: 16,
    concurrency: 8,
    noHandleSignals: true,
    events,
    logger: new Logger(() => () => undefined),
    taskList: { add: async ({ a, b }) => a + b },
  });
  events.on("job:complete", ({ job: { payload } }) => {
    waiting.get(payload.id)?.();
    waiting.delete(payload.id);
  });
  return {
    name: "graphile-worker, LISTEN/NOTIFY",
    async call() {
      const id = crypto.randomUUID();
      const completed = new Promise((resolve) => waiting.set(id, resolve));
      await runner.addJob("add", { id, a: 2, b: 3 });
      await completed;
    },
    close: () => runner.stop(),
  };
}
