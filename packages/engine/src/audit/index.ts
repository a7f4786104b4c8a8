export { StrandAnchors } from "./anchor.ts";
export { auditBody, eventsIn, genesis, linkAfter } from "./chain.ts";
export {
  type EventFacts,
  type EventKind,
  EventWriter,
  type GrantEventKind,
  grantEvent,
  SYSTEM_TENANT,
  type ToolActor,
  type ToolChange,
  toolEvent,
} from "./event.ts";
export {
  type ArchivedLink,
  closingLine,
  ExportCheck,
  type ExportedChain,
  type ExportReport,
  exportEntry,
  openingLine,
} from "./export.ts";
export {
  auditEntries,
  auditEvents,
  eventsOf,
  type RecordedEvent,
} from "./read.ts";
export { type ChainReport, type EventOutline, verifyChain } from "./verify.ts";
