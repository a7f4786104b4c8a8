import type { Conversations, Engine } from "@sallyport/engine";

/** Calls of open batches that wait for a person would wait for nothing once their conversation is gone. */
export async function withdrawCalls(
  conversationIds: readonly string[],
  { engine, conversations }: { engine: Engine; conversations: Conversations },
): Promise<void> {
  for (const conversationId of conversationIds) {
    const batch = await conversations.journal.openOf(conversationId);
    for (const { callId } of batch?.calls ?? []) {
      const standing = callId === undefined ? undefined : await engine.standing(callId);
      if (callId === undefined || standing?.status !== "pending_approval") continue;
      await engine.cancelCall(callId, { reason: "the conversation was deleted" });
    }
  }
}
