export { GENESIS, linkAll } from "./chain.ts";
export {
  type EventFacts,
  type EventKind,
  EventWriter,
  type GrantEventKind,
  grantEventBody,
  SYSTEM_TENANT,
  type ToolActor,
  type ToolChange,
  toolEventBody,
} from "./event.ts";
export {
  closingLine,
  ExportCheck,
  type ExportedChain,
  type ExportReport,
  exportEntry,
} from "./export.ts";
export { auditEntries, type ChainReport, verifyChain } from "./verify.ts";
