import type { ConversationOutline, Conversations } from "@sallyport/loop";

/** Every one: what is decided on part of a list would be wrong about the rest. */
export const EVERY_ONE = Number.MAX_SAFE_INTEGER;

/** Conversations last used before then, the oldest first; none with an open batch, and not the one spared. */
export async function staleOnes(
  { keeping }: Conversations,
  { before, spare }: { before: number; spare?: string | undefined },
): Promise<ConversationOutline[]> {
  const old = await keeping.outlines({ limit: EVERY_ONE, before });
  return old.filter((one) => !one.hasOpenBatch && one.conversationId !== spare).reverse();
}
