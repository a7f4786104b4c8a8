export type { Adjustments, EngineOptions } from "./admin/compose.ts";
export { createEngine, type Drained, type Engine, type Load } from "./admin/engine.ts";
export type { Grants, Revoked, RevokeOrder } from "./admin/grants.ts";
export type { RevocationOrder } from "./admin/tokens.ts";
export type {
  CodeExchange,
  RegisterOptions,
  ReleaseOrder,
  Tools,
} from "./admin/tools.ts";
export type { UndoneCall } from "./admin/undo.ts";
export { type AdmissionLimits, DEFAULT_ADMISSION } from "./admit/admission.ts";
export type { AlwaysAllow, Approvals, PersonDecision } from "./approvals/approvals.ts";
export type { CallPlan, PlanRequest } from "./approvals/evaluate.ts";
export {
  type ApprovalRules,
  DEFAULT_LEVELS,
  DEFAULT_RULES,
  isFinal,
  isUnspent,
  levelAt,
  levelEndsAt,
  standingAt,
} from "./approvals/record.ts";
export type { ResumeOptions } from "./approvals/suspended.ts";
export {
  auditEntries,
  type ChainFinding,
  type ChainReport,
  closingLine,
  cloudEvent,
  ExportCheck,
  type ExportedChain,
  type ExportedEvent,
  type ExportReport,
  exportEntry,
  GENESIS,
  linkAll,
  relayOutbox,
  verifyChain,
} from "./audit/index.ts";
export type { AgentProfile } from "./authorise/agent-profile.ts";
export { type AuthorityOptions, ConfiguredAuthority, grantAuthority } from "./authorise/authority.ts";
export type { ConfiguredGrant } from "./authorise/configured-rules.ts";
export {
  type Capability,
  type CapabilityDraft,
  CapabilityTree,
  type DelegationDraft,
  type GrantDraft,
  GrantIndex,
  type Grantor,
  type GrantSigner,
  hmacSigner,
  isGenuine,
  signGrant,
} from "./authorise/grant/index.ts";
export * from "./authorise/policy/index.ts";
export type { StandingChoice, StandingDraft } from "./authorise/standing-grant.ts";
export * from "./authorise/token/index.ts";
export {
  type CallRequest,
  DEFAULT_LIMITS,
  type EngineLimits,
  type QuarantineOrder,
  type ToolRule,
} from "./context.ts";
export type { RetryOptions } from "./execute/index.ts";
export {
  blameInlineTool,
  createInlineRunner,
  createProcessRunner,
  createScriptRunner,
  createThreadRunner,
  type ReadManifests,
  readManifests,
  unheldInProcess,
} from "./execute/index.ts";
export type { ManualClose, RecoveryVerdict } from "./journal/recovery.ts";
export { type Hosts, hostsWithin, readHost, readHostPattern } from "./match/locations.ts";
export { compilePatterns } from "./match/patterns.ts";
export { createMemoryStore, type MemoryStoreOptions } from "./memory/index.ts";
export { MemoryMeter } from "./memory/meter.ts";
export { MemoryBus, RecentErrors, systemClock, uuidV7 } from "./memory/platform.ts";
export { givenId, tenantId } from "./passage/call.ts";
export { passage } from "./passage/pipeline.ts";
export type { DoorRefusal } from "./passage/unknown-callers.ts";
export { RefusalBudget } from "./passage/unknown-callers.ts";
export { CALLBACK_STATES } from "./ports/calls.ts";
export { TIERS } from "./ports/grants.ts";
export type * from "./ports/index.ts";
export { CHANNELS } from "./ports/platform.ts";
export type {
  ExtraPattern,
  Profile as RedactionProfile,
  Purpose as RedactionPurpose,
} from "./redact/redact.ts";
export {
  createRedactor,
  forDecision,
  type Redactor,
  type RedactorOptions,
  redact,
  redactLog,
  redactText,
} from "./redact/redact.ts";
export { type DescribedCall, describeCall, summaryOf, visible } from "./redact/summary.ts";
export {
  breakingChanges,
  type DefinedTool,
  decodeManifest,
  defineCommand,
  defineTool,
  InvalidInput,
  isDefinedTool,
  lifecycleAt,
  type Registered,
  type ResolvedTool,
  traitsOf,
} from "./registry/index.ts";
export type { CallStanding, Cancellation } from "./running/call-status.ts";
export type { CallNews, LiveFeed, NumberedNews } from "./running/live-feed.ts";
export { timerMs } from "./timeouts.ts";
export {
  createSchemaCompiler,
  lintSchema,
  type ResultStep,
  type SchemaFinding,
  STRICT_RESULT,
} from "./validate/index.ts";
