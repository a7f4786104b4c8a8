/* The tool loop: a model, a person and tools in conversation, every call through the engine's passage. */

export type { CallPlan } from "@sallyport/engine";
export {
  type AnswerPart,
  type LoopEngine,
  type LoopParts,
  type OutputBudget,
  type OutputBudgetOf,
  OutputBudgets,
  type Spill,
  type StartModel,
} from "./context.ts";
export { Conversation } from "./conversation.ts";
export type * from "./conversations-port.ts";
export type * from "./events.ts";
export { createMemoryConversations } from "./memory-conversations.ts";
export { askDirectly } from "./model-answer.ts";
export { type PlannedCall, type PlanningContext, planBatch } from "./planner.ts";
export { asEnginePolicy, loopVerdict } from "./policy.ts";
export { headAndTail, truncateOutput } from "./results.ts";
export * from "./settings.ts";
export { sanitizeTerminal, TerminalSanitizer } from "./terminal.ts";
export type { LoopTool } from "./tools.ts";
export { definitionsOf, loopToolsOf, type OfferedTool, offeredTools } from "./tools.ts";
