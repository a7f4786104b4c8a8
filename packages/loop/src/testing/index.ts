export { conversationsContract } from "./conversations-contract.ts";
export type { ConversationsFixture } from "./conversations-contract-samples.ts";
