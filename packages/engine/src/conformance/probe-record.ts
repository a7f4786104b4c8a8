import { isJsonObject, type JsonObject } from "@sallyport/protocol";
import type { ChainReport } from "../audit/verify.ts";
import { verifyChain } from "../audit/walk.ts";
import type { Store } from "../ports/store.ts";
import { PROBER } from "./probe-house.ts";

const EVERYTHING = { after: 0, limit: 10_000 };

/** The bodies of the audit events of one execution, in the order of the chain. */
export async function eventsOf(store: Store, executionId: string): Promise<JsonObject[]> {
  const entries = await store.audit.read(PROBER.tenant, EVERYTHING);
  const bodies = entries.map(({ body }): unknown => JSON.parse(body));
  return bodies.filter(isJsonObject).filter((body) => body.executionId === executionId);
}

/** The probes' chain, checked link by link against the head the store remembers. */
export function checkChain(store: Store): Promise<ChainReport> {
  return verifyChain(store.audit, PROBER.tenant);
}
