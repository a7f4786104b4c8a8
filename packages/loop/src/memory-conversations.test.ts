import { createMemoryConversations } from "./memory-conversations.ts";
import { conversationsContract } from "./testing/conversations-contract.ts";

conversationsContract(
  "conversations in memory",
  async () => {
    const conversations = createMemoryConversations();
    return { conversations, dispose: () => conversations.close() };
  },
  { isReference: true },
);
