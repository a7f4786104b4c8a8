export { type AdmissionLimits, DEFAULT_ADMISSION } from "./admit/admission.ts";
export { type ApprovalRules, DEFAULT_RULES } from "./approve/ask.ts";
export { DEFAULT_LEVELS, levelAt, levelEndsAt } from "./approve/levels.ts";
export { isFinal, isUnspent, standingAt } from "./approve/settle.ts";
export { GENESIS, linkAll } from "./audit/chain.ts";
export { type ExportedEvent, exportEntry, importLine } from "./audit/receipts.ts";
export { cloudEvent, relayOutbox } from "./audit/relay.ts";
export { ChainCheck, type ChainFinding, type ChainReport } from "./audit/verify.ts";
export { auditEntries, verifyChain } from "./audit/walk.ts";
export type { AgentProfile } from "./authorise/agent-profile.ts";
export {
  type Capability,
  type CapabilityDraft,
  CapabilityTree,
  type DelegationDraft,
  type GrantDraft,
  type Grantor,
  GrantShelf,
  type GrantSigner,
  hmacSigner,
  isGenuine,
  signGrant,
} from "./authorise/capability/index.ts";
export type { ConfiguredGrant } from "./authorise/grants.ts";
export { type AuthorityOptions, grantAuthority, HouseAuthority } from "./authorise/house-authority.ts";
export * from "./authorise/policy/index.ts";
export type { StandingChoice, StandingDraft } from "./authorise/standing/index.ts";
export * from "./authorise/token/index.ts";
export type { AlwaysAllow } from "./call/always-allow.ts";
export type { ApprovalBook, PersonsAnswer } from "./call/approval-book.ts";
export type { Cancellation } from "./call/cancel-call.ts";
export { createEngine, type Drained, type Engine, type Load } from "./call/engine.ts";
export type { Adjustments, EngineOptions } from "./call/furnish.ts";
export type { GrantBook, Revoked, RevokeOrder } from "./call/grant-book.ts";
export { type CallRequest, DEFAULT_LIMITS, type EngineLimits, type ToolRule } from "./call/house.ts";
export type { HostCredential, IsolationRules } from "./call/isolation-rules.ts";
export type { CallNews, LiveFeed, NumberedNews } from "./call/live-feed.ts";
export { passage } from "./call/pipeline.ts";
export type { PlanRequest } from "./call/plan-call.ts";
export type { PersonsWord } from "./call/recovery.ts";
export type { CallStanding } from "./call/standing.ts";
export type { QuarantineOrder, ReleaseOrder, ShelveOptions, ToolShelf } from "./call/tool-shelf.ts";
export type { UndoneCall } from "./call/undo.ts";
export type { GoingOn } from "./call/waiting-call.ts";
export type { RevocationOrder } from "./call/withdraw.ts";
export { type Box, checkTool, integrationBoxes, runtimeBoxes, toolBoxes } from "./conformance/index.ts";
export type { RetryOptions } from "./execute/retry.ts";
export {
  createInlineRunner,
  createProcessRunner,
  createScriptRunner,
  createThreadRunner,
} from "./execute/runners/index.ts";
export type { Verdict } from "./journal/recover.ts";
export { type Hosts, hostsWithin, readHost, readHostPattern } from "./match/hosts.ts";
export { compilePatterns } from "./match/patterns.ts";
export { MemoryBus } from "./memory/bus.ts";
export { createMemoryConversations } from "./memory/conversations.ts";
export { createMemoryStore, type MemoryStoreOptions } from "./memory/index.ts";
export { MemoryMeter } from "./memory/meter.ts";
export { RecentErrors, systemClock, uuidV7 } from "./memory/system.ts";
export type * from "./ports/approvals.ts";
export type * from "./ports/audit-log.ts";
export type * from "./ports/authority.ts";
export { type Bus, CHANNELS, type Channel, type Listener } from "./ports/bus.ts";
export {
  CALLBACK_STATES,
  type Callback,
  type CallbackReader,
  type CallbackState,
  type CallbackWrite,
} from "./ports/callbacks.ts";
export type * from "./ports/calls.ts";
export type * from "./ports/conversations.ts";
export type * from "./ports/event-sink.ts";
export type * from "./ports/grants.ts";
export type * from "./ports/hooks.ts";
export type * from "./ports/outbox.ts";
export { type Policy, type PolicyRequest, type PolicyVerdict, TIERS, type Tier } from "./ports/policy.ts";
export type * from "./ports/queue.ts";
export type * from "./ports/runner.ts";
export type * from "./ports/sandbox.ts";
export type * from "./ports/secrets.ts";
export type * from "./ports/state.ts";
export type * from "./ports/store.ts";
export type * from "./ports/telemetry.ts";
export type * from "./ports/time.ts";
export type * from "./ports/tokens.ts";
export type * from "./ports/tool-records.ts";
export type { TraceContext } from "./ports/trace.ts";
export type * from "./ports/transaction.ts";
export type * from "./ports/workspace.ts";
export type { Purpose as RedactionPurpose } from "./redact/hiding.ts";
export { forDecision, redact, redactLog, redactText } from "./redact/redact.ts";
export { createRedactor, type Redactor, type RedactorOptions } from "./redact/redactor.ts";
export { type DescribedCall, describeCall, summaryOf } from "./redact/summarise.ts";
export type { ExtraPattern, Profile as RedactionProfile } from "./redact/text/rules.ts";
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
} from "./registry/index.ts";
export { createSchemaCompiler, lintSchema, type SchemaFinding } from "./validate/index.ts";
export { type ResultStep, STRICT_RESULT } from "./validate/result-steps.ts";
