import type { Engine } from "@sallyport/engine";
import type { AuditArchiver, Store, Workspaces } from "@sallyport/engine/ports";
import { SallyportError } from "@sallyport/protocol";
import type { LoadedConfig } from "../config/load.ts";
import type { EventPublishers } from "../events/index.ts";
import type { Gateway } from "../gateway/gateway.ts";
import { type KeySharing, shareKeys } from "../keys/index.ts";
import { openWebhooks } from "../webhooks/open-webhooks.ts";
import type { WebhookLog } from "../webhooks/webhook-log.ts";
import { type AuditArchive, auditArchiveOf } from "./audit-archive.ts";
import { type PeriodicTask, startTasks } from "./periodic-tasks.ts";

export interface ServiceOptions {
  log: WebhookLog;
  /** Where people reach this server; the links that approvers get start with it. Left out: they get no notices. */
  publicUrl?: string | undefined;
  /** How often a periodic task runs, where the default does not fit. */
  everyMs?: Partial<Record<TaskName, number>>;
}

/** Background work under way. */
export interface RunningServices {
  /** Waits for the task that is being done. */
  stop(): Promise<void>;
}

interface Collaborators {
  config: LoadedConfig;
  engine: Engine;
  store: Store & Partial<AuditArchiver>;
  bus: Parameters<typeof openWebhooks>[0]["bus"];
  workspaces: Pick<Workspaces, "expire">;
  events: EventPublishers;
  /** Absent where the store is this process's own. */
  keySharing: KeySharing | undefined;
  /** Absent where tools come from modules. */
  gateway: Gateway | undefined;
}

const EVERY_MS = {
  "expire approvals": 15_000,
  "claim queued calls": 2_000,
  "judge orphans": 5_000,
  "expire undo data": 60_000,
  "anchor audit strands": 60_000,
  "take changed keys": 5_000,
  "probe workers": 5_000,
  "archive audit": 3_600_000,
} as const;

type TaskName = keyof typeof EVERY_MS;

/**
 * Starts what a process does by itself while it stays: it runs calls that are queued or approved, judges calls of
 * processes that are gone, delivers callbacks and notices, publishes events, and expires approvals and undo data. Throws
 * E3227, and leaves nothing running, when there is no secret to sign webhooks with.
 */
export async function startServices(
  { config, engine, store, bus, workspaces, events, keySharing, gateway }: Collaborators,
  { log, publicUrl, everyMs }: ServiceOptions,
): Promise<RunningServices> {
  const archive = auditArchiveOf({ config, store });
  const webhooks = openWebhooks({ config, engine, store, bus }, { log, publicUrl });
  const runs: Record<TaskName, PeriodicTask["run"]> = {
    "expire approvals": () => engine.approvals.expireDue(),
    "claim queued calls": () => engine.claimQueued(),
    // Where no other process can use the store, there are none but those found at the start.
    "judge orphans": async () => store.isShared && (await engine.judgeOrphans()),
    "expire undo data": () => workspaces.expire(),
    "anchor audit strands": () => engine.anchorStrands(),
    "take changed keys": async () => keySharing?.sealing && (await takeKeys(keySharing)),
    "probe workers": async () => await gateway?.probe(),
    "archive audit": (signal) => archiveAudit(archive, { log, signal }),
  };
  void gateway?.probe();
  try {
    const claimed = await engine.claimQueued();
    if (claimed > 0) log.info({ calls: claimed }, "Took up calls that were accepted earlier");
  } catch (error) {
    await webhooks.close();
    throw error;
  }
  const periods = { ...EVERY_MS, ...everyMs };
  const tasks = (Object.keys(EVERY_MS) as TaskName[]).map(
    (name): PeriodicTask => ({ name, everyMs: periods[name], run: runs[name] }),
  );
  const running = startTasks(tasks, (task, error) =>
    log.warn({ task, err: error }, "A periodic task failed"),
  );
  events.start(log);
  return {
    stop: async () => {
      await running.stop();
      await webhooks.close();
    },
  };
}

/** Moves old months of the audit record to the configured place, where there is one. */
async function archiveAudit(
  archive: AuditArchive | undefined,
  { log, signal }: { log: WebhookLog; signal: AbortSignal },
): Promise<void> {
  for (const { problem, ...part } of (await archive?.move({ signal })) ?? []) {
    if (!problem) log.info(part, "Moved a month of the audit record to the archive");
    else log.warn({ ...part, code: problem.code }, `A month stays in the database. ${problem.message}`);
  }
}

/** Brings keys that another process has changed into the key folder, where they are noticed. */
async function takeKeys(keySharing: KeySharing): Promise<void> {
  const trouble = await shareKeys(keySharing);
  if (trouble) throw new SallyportError(trouble);
}
