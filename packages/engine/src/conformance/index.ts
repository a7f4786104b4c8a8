export type { Box } from "./box.ts";
export { type HouseFacts, integrationBoxes } from "./integration-boxes.ts";
export type { EngineFactory, ProbedEngine } from "./probe-house.ts";
export { runtimeBoxes } from "./runtime-boxes.ts";
export { checkTool, type ToolCheckContext, toolBoxes } from "./tool-boxes.ts";
