import type { ArchivedPart, ArchiveOrder, ArchiveState, AuditArchiver, Store } from "@sallyport/engine/ports";
import { failure, SallyportError } from "@sallyport/protocol";
import type { LoadedConfig } from "../config/load.ts";
import { openBlobs } from "./blobs.ts";

const DAY_MS = 86_400_000;

/** The archive of a configuration: where months of the audit record go, and after how long. */
export interface AuditArchive {
  readonly days: number;
  /** Both reject with E3914 when the store is lost. */
  state(): Promise<ArchiveState>;
  move(order?: Omit<ArchiveOrder, "blobs" | "keepMs">): Promise<ArchivedPart[]>;
}

interface Parts {
  config: Pick<LoadedConfig, "store" | "blobs" | "folder">;
  store: Store & Partial<AuditArchiver>;
}

/** Undefined where the whole record stays in the store: without PostgreSQL, or without a place. */
export function auditArchiveOf({
  config,
  store: { archiveAudit, archiveState },
}: Parts): AuditArchive | undefined {
  const blobs = openBlobs(config);
  const days = config.store.postgres?.auditDays;
  if (!blobs || !archiveAudit || !archiveState || days === undefined) return undefined;
  const keepMs = days * DAY_MS;
  return {
    days,
    state: () => archiveState(keepMs),
    move: (order) => archiveAudit({ ...order, blobs, keepMs }),
  };
}

/** The same; throws E3919 with what is missing. */
export function requireAuditArchive(parts: Parts): AuditArchive {
  const archive = auditArchiveOf(parts);
  if (archive) return archive;
  const isPlace = parts.config.store.postgres !== undefined;
  const message = isPlace
    ? "There is no place for months of the audit record: `blobs` is not set."
    : "The audit record of an embedded store stays whole: only a PostgreSQL store has months that can be moved.";
  const advice = isPlace
    ? "Set `blobs` to a folder or a bucket: docs/operate/blobs.md."
    : "Nothing has to be done; `sallyport audit export` writes a copy.";
  throw new SallyportError(failure("E3919", { message, advice }));
}
