export { type ConversationsFixture, conversationsContract } from "./conversations-contract.ts";
