export { type AdmissionLimits, DEFAULT_ADMISSION, type Priority } from "./admit/admission.ts";
export type { ApprovalDesk, ApprovalNeed, ApprovalVerdict } from "./approve/desk.ts";
export { GENESIS, linkAll } from "./audit/chain.ts";
export { type ExportedEvent, exportEntry, importLine } from "./audit/receipts.ts";
export { cloudEvent, relayOutbox } from "./audit/relay.ts";
export { ChainCheck, type ChainFinding, type ChainReport } from "./audit/verify.ts";
export { auditEntries, verifyChain } from "./audit/walk.ts";
export { type ConfiguredGrant, grantAuthority } from "./authorise/grants.ts";
export { type CallStanding, createEngine, type Engine, type EngineOptions } from "./call/engine.ts";
export { type CallRequest, DEFAULT_LIMITS, type EngineLimits } from "./call/house.ts";
export { passage } from "./call/pipeline.ts";
export type { PersonsWord } from "./call/recovery.ts";
export type { ShelveOptions, ToolShelf } from "./call/tool-shelf.ts";
export { type Box, checkTool, integrationBoxes, runtimeBoxes, toolBoxes } from "./conformance/index.ts";
export type { RetryOptions } from "./execute/retry.ts";
export { createInlineRunner, createThreadRunner } from "./execute/runners/index.ts";
export type { Verdict } from "./journal/recover.ts";
export { createMemoryStore, type MemoryStoreOptions } from "./memory/index.ts";
export { MemoryMeter } from "./memory/meter.ts";
export { RecentErrors, systemClock, uuidV7 } from "./memory/system.ts";
export type * from "./ports/audit-log.ts";
export type * from "./ports/authority.ts";
export type * from "./ports/calls.ts";
export type * from "./ports/event-sink.ts";
export type * from "./ports/hooks.ts";
export type * from "./ports/outbox.ts";
export type * from "./ports/runner.ts";
export type * from "./ports/state.ts";
export type * from "./ports/store.ts";
export type * from "./ports/telemetry.ts";
export type * from "./ports/time.ts";
export type * from "./ports/tool-records.ts";
export type * from "./ports/transaction.ts";
export {
  breakingChanges,
  type DefinedTool,
  decodeManifest,
  defineTool,
  InvalidInput,
  isDefinedTool,
  lifecycleAt,
  type Registered,
  type ResolvedTool,
} from "./registry/index.ts";
export { createSchemaCompiler, lintSchema, type SchemaFinding } from "./validate/index.ts";
export { type ResultStep, STRICT_RESULT } from "./validate/result-steps.ts";
