/*
 * What the loop, the adapters and the server of this repository use besides the main entry: reading requests and tokens,
 * deriving what a person sees from a record, and rules that doors must apply as the engine does. It follows their needs
 * and may change with them; programs that embed the engine do not need it.
 */

// Calls and tools
export type { Drained } from "./admin/engine.ts";
// Approvals, policy and tokens
export { isFinal, isUnspent, levelAt, levelEndsAt, standingAt } from "./approvals/record.ts";
// The record, and what a person may see
export {
  type ArchivedLink,
  auditEntries,
  auditEvents,
  closingLine,
  type EventOutline,
  ExportCheck,
  type ExportedChain,
  type ExportReport,
  exportEntry,
  openingLine,
} from "./audit/index.ts";
export {
  completeCall,
  type Effect,
  type PartialCall,
  type RuleExplanation,
  strictest,
} from "./authorise/policy/index.ts";
export {
  APPROVAL_ISSUER,
  type ApprovalPass,
  type CheckReport,
  inspectToken,
  mintApprovalToken,
  readApprovalToken,
  type TokenInspection,
  type TokenQuery,
  thumbprint,
} from "./authorise/token/index.ts";
export { cleanText, type ReadManifests, readManifests, unheldInProcess } from "./execute/index.ts";
export { loadProblem } from "./execute/runners/load-problem.ts";
export { type Hosts, hostsWithin, readHost, readHostPattern } from "./match/locations.ts";
export { compilePatterns } from "./match/patterns.ts";
export { YES } from "./match/truth.ts";
export { givenId, tenantId } from "./passage/call.ts";
export { RefusalBudget } from "./passage/unknown-callers.ts";
export { forDecision, redact, redactLog, redactText } from "./redact/redact.ts";
export { visible } from "./redact/summary.ts";
export { decodeManifest, isDefinedTool, lifecycleAt, traitsOf } from "./registry/index.ts";
export { timerMs } from "./timeouts.ts";
export { createSchemaCompiler, unfitResult } from "./validate/index.ts";
