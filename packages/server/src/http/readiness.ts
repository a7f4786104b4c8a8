import type { OpenHouse } from "../compose.ts";
import type { ReadinessCheck } from "./routes/index.ts";

/** Without which no call can be taken, each by the name an operator knows it by. */
export function readinessOf({ engine, store }: OpenHouse): ReadinessCheck[] {
  return [
    {
      name: "store",
      check: async () => {
        await store.calls.list({ limit: 1 });
        return undefined;
      },
    },
    {
      name: "engine",
      check: () => (engine.load().accepting ? undefined : "it is closing"),
    },
  ];
}
