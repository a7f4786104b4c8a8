export { type ConversationsFixture, conversationsContract } from "./conversations-contract.ts";
export { type FaultAction, FaultPlan, type FaultPoint, type FaultRule, withFaults } from "./faults.ts";
export { storeContract } from "./store-contract.ts";
export * from "./store-contract-permit-samples.ts";
export * from "./store-contract-samples.ts";
