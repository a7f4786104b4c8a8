import { SallyportError } from "@sallyport/protocol";
import { CALLER, openEngine } from "../guarded.ts";
import type { Contender } from "../measure.ts";
import { pure } from "../subject.ts";
import { openShared } from "./shared-store.ts";

/** A call through the queue: accepted on record, run by the same replica, its outcome on record and told. */
export async function open(place: Record<string, string>): Promise<Contender> {
  const store = await openShared(place);
  const engine = await openEngine({ store, runner: "inline" });
  const signal = new AbortController().signal;
  return {
    name: "Sallyport, accepted call on PostgreSQL",
    async call() {
      const tool = pure.manifest.id;
      const accepted = await engine.accept({ tool, operation: "add", input: { a: 2, b: 3 }, caller: CALLER });
      if ("error" in accepted) throw new SallyportError(accepted.error);
      const feed = await engine.watch(accepted.callId);
      while (feed && !feed.ended) await feed.next(feed.last, signal);
    },
    async close() {
      await engine.close();
      await store.close();
    },
  };
}
