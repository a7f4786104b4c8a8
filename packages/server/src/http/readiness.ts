import { statfs } from "node:fs/promises";
import type { OpenHouse } from "../compose.ts";
import type { ReadinessCheck } from "./routes/index.ts";

/** Without which no call can be taken, each by the name an operator knows it by. */
export function readinessOf({ engine, store, config }: OpenHouse): ReadinessCheck[] {
  return [
    {
      name: "store",
      check: async () => {
        await store.calls.list({ limit: 1 });
        return undefined;
      },
    },
    diskCheck(config.stateFolder),
    {
      name: "engine",
      check: () => (engine.load().accepting ? undefined : "it is closing"),
    },
  ];
}

const LEAST_FREE_MIB = 16;

type Room = { bavail: number; bsize: number };

/** A store on a full disk can be read and not written to: every call would be refused only once it came. */
export function diskCheck(folder: string, look: (folder: string) => Promise<Room> = statfs): ReadinessCheck {
  return {
    name: "disk",
    check: async () => {
      const { bavail, bsize } = await look(folder);
      const isFull = bavail * bsize < LEAST_FREE_MIB * 1024 * 1024;
      return isFull ? `less than ${LEAST_FREE_MIB} MiB are free where state is kept` : undefined;
    },
  };
}
