/* The tool loop: a model, a person and tools in conversation, every call through the engine's passage. */

export type * from "../ports/conversations.ts";
export { definitionsOf, loopToolsOf, type OfferedTool, offeredTools } from "./advertise.ts";
export type { LoopParts } from "./around.ts";
export type { CallPlan } from "./call-plan.ts";
export { type CallRoom, CallRooms, type RoomOf } from "./call-room.ts";
export { Conversation } from "./conversation.ts";
export type { LoopEngine } from "./loop-engine.ts";
export type * from "./loop-events.ts";
export { asEnginePolicy, loopVerdict } from "./loop-policy.ts";
export * from "./loop-settings.ts";
export type { LoopTool } from "./loop-tool.ts";
export { type AnswerPart, askDirectly, type StartModel } from "./model-answer.ts";
export { type PlannedCall, type PlanningContext, planBatch } from "./planner.ts";
export { sanitizeTerminal, TerminalSanitizer } from "./sanitize-terminal.ts";
export type { Spill } from "./spill.ts";
export { headAndTail, truncateOutput } from "./truncate.ts";
