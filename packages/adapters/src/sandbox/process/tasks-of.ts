import { readdir, readFile } from "node:fs/promises";

/** Others of the same user may start more while a sandbox runs; it must not be them who stop it. */
const SPARE_TASKS = 64;

/** How many tasks a user has on this host, and some more; what ended while we looked is not counted. */
export async function tasksOf(uid: number): Promise<number> {
  const names = (await readdir("/proc")).filter((name) => /^\d+$/.test(name));
  const counts = await Promise.all(
    names.map(async (name) => {
      const status = await readFile(`/proc/${name}/status`, "utf8").catch(() => "");
      const owner = /^Uid:\s+(\d+)/m.exec(status)?.[1];
      return Number(owner) === uid ? Number(/^Threads:\s+(\d+)/m.exec(status)?.[1] ?? 1) : 0;
    }),
  );
  return counts.reduce((sum, one) => sum + one, SPARE_TASKS);
}
