import { effectful, guardedContender } from "../guarded.ts";
import type { Contender } from "../measure.ts";
import { openShared } from "./shared-store.ts";

/** The whole passage on PostgreSQL, by one replica: `tool` is `pure`, or `effectful` for a durable intent first. */
export async function open(place: Record<string, string>): Promise<Contender> {
  const store = await openShared(place);
  const isEffectful = place.tool === "effectful";
  return guardedContender({
    name: `guarded on PostgreSQL${isEffectful ? ", intent first" : ""}`,
    store,
    runner: "inline",
    ...(isEffectful && { tool: effectful }),
  });
}
