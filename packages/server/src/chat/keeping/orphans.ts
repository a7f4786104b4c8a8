import type { OutputSize } from "@sallyport/adapters/spill";
import type { Kept } from "./kept-in.ts";
import { EVERY_ONE } from "./stale.ts";

const DAY_MS = 86_400_000;

/** Removes output that belongs to no conversation and is older than a day. */
export async function removeOrphans(
  { conversations, output }: Kept,
  { now, goOn }: { now: number; goOn?: () => boolean },
): Promise<OutputSize> {
  const records = await conversations.list({ limit: EVERY_ONE });
  const conversationIds = records.map(({ conversationId }) => conversationId);
  return await output.removeOrphans({ conversationIds, before: now - DAY_MS, ...(goOn && { goOn }) });
}
