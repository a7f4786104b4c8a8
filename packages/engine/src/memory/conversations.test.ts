import { conversationsContract } from "../testing/conversations-contract.ts";
import { createMemoryConversations } from "./conversations.ts";

conversationsContract("conversations in memory", async () => {
  const conversations = createMemoryConversations();
  return { conversations, dispose: () => conversations.close() };
});
