/* A job through pg-boss with LISTEN/NOTIFY: sent, run by a worker, its completion written. */
import { PgBoss } from "pg-boss";

const NAME = "bench";

export async function open({ url }) {
  // The spy tells when a completion is written; otherwise one would have to poll for it.
  const boss = new PgBoss({
    connectionString: url,
    max: 16,
    useListenNotify: true,
    __test__enableSpies: true,
  });
  boss.on("error", (error) => console.error(error));
  await boss.start();
  await boss.createQueue(NAME, { notify: true });
  const spy = boss.getSpy(NAME);
  await boss.work(NAME, { pollingIntervalSeconds: 0.5 }, async ([{ data }]) => ({ result: data.a + data.b }));
  return {
    name: "pg-boss, LISTEN/NOTIFY",
    async call() {
      const id = await boss.send(NAME, { a: 2, b: 3 });
      await spy.waitForJobWithId(id, "completed");
    },
    close: () => boss.stop({ graceful: false }),
  };
}
