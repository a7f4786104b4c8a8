/*
 * What a program that embeds the engine needs: the engine, tools, authority, runners, the store in memory and the record.
 * Ports are in `@sallyport/engine/ports`, contract suites in `@sallyport/engine/testing`, what doors and adapters need
 * besides in `@sallyport/engine/host`.
 */

// The engine and its calls
export type { EngineOptions } from "./admin/compose.ts";
export { createEngine, type Engine } from "./admin/engine.ts";
// Who may call, and who is asked
export type { Grants } from "./admin/grants.ts";
// Tools
export type { RegisterOptions, Tools } from "./admin/tools.ts";
export type { UndoneCall } from "./admin/undo.ts";
export { type AdmissionLimits, DEFAULT_ADMISSION } from "./admit/admission.ts";
export type { AlwaysAllow, Approvals, PersonDecision } from "./approvals/approvals.ts";
export type { CallPlan, PlanRequest } from "./approvals/evaluate.ts";
export { type ApprovalRules, DEFAULT_RULES } from "./approvals/record.ts";
export type { ResumeOptions } from "./approvals/suspended.ts";
// Defaults in memory, redaction, the record
export { type ChainReport, verifyChain } from "./audit/index.ts";
export type { AgentProfile } from "./authorise/agent-profile.ts";
export { type AuthorityOptions, ConfiguredAuthority, grantAuthority } from "./authorise/authority.ts";
export type { ConfiguredGrant } from "./authorise/configured-rules.ts";
export {
  type CapabilityDraft,
  CapabilityTree,
  type DelegationDraft,
  type GrantDraft,
  GrantIndex,
  type GrantSigner,
  hmacSigner,
} from "./authorise/grant/index.ts";
export {
  type CacheOptions,
  type CompiledPolicy,
  cachedPolicy,
  compilePolicy,
  type Explanation,
  type SrdOptions,
  srdPolicy,
} from "./authorise/policy/index.ts";
export {
  DEFAULT_TOKEN_RULES,
  KeySet,
  keySetOf,
  keysFromJwks,
  keysFromPem,
  type MintClaims,
  mintToken,
  type SigningKey,
  TokenChecker,
  type TokenCheckerOptions,
  type TokenRules,
  type VerificationKey,
} from "./authorise/token/index.ts";
export { type CallRequest, DEFAULT_LIMITS, type EngineLimits, type ToolRule } from "./context.ts";
export type { RetryOptions } from "./execute/index.ts";
export {
  blameInlineTool,
  createInlineRunner,
  createProcessRunner,
  createScriptRunner,
  createThreadRunner,
} from "./execute/index.ts";
export type { LeaseRules } from "./fleet/membership.ts";
export type { ManualClose, RecoveryVerdict } from "./journal/recovery.ts";
export { createMemoryBlobs } from "./memory/blobs.ts";
export { MemoryMeter } from "./memory/meter.ts";
export { MemoryBus, systemClock, uuidV7 } from "./memory/platform.ts";
export { createMemoryStore, type MemoryStoreOptions } from "./memory/store.ts";
export {
  EventPublisher,
  eventSchemas,
  type PublisherOptions,
  publishPending,
  type SinkBacklog,
  type SinkProblem,
} from "./publish/index.ts";
export { createRedactor, type Redactor, type RedactorOptions } from "./redact/redact.ts";
export {
  type DefinedTool,
  defineCommand,
  defineTool,
  InvalidInput,
  type ResolvedTool,
} from "./registry/index.ts";
export type { CallStanding, Cancellation } from "./running/call-status.ts";
export type { CallNews, LiveFeed, NumberedNews } from "./running/live-feed.ts";
export { lintSchema, type ResultStep, type SchemaFinding, STRICT_RESULT } from "./validate/index.ts";
