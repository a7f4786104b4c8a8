import type { ArchivedPart, ArchiveProgress, ArchiveState } from "@sallyport/engine/ports";
import { Command } from "commander";
import { type AuditArchive, requireAuditArchive } from "../../runtime/audit-archive.ts";
import { EXIT } from "../exit-codes.ts";
import { interrupted } from "../interrupted.ts";
import { type Io, table, visible } from "../io.ts";
import { type CommonOptions, Session, withCommonOptions } from "../session.ts";

const HELP = `
Months that ended more than store.postgres.auditDays (90) days ago go to the place that \`blobs\` names, the oldest first: each
is checked, written as an export, read back and only then dropped from PostgreSQL. A server does this every hour; the
command does it now, and also tries months again that failed. A month that cannot be moved stays and stops no other.
  $ sallyport audit archive --dry-run     check the months that would go, and move none
  $ sallyport audit archive
Exit code 0: nothing is left to do. 1: a month stays, and the reason is shown. 6: interrupted; what was done is kept.`;

interface ArchiveFlags extends CommonOptions {
  dryRun?: boolean;
}

/** `sallyport audit archive`: old months leave the database now. */
export function archiveCommand(io: Io, finish: (code: number) => void): Command {
  const command = new Command("archive")
    .description("move old months of the record from PostgreSQL to the configured place")
    .option("--dry-run", "check the months that would go, and move none")
    .addHelpText("after", HELP);
  return withCommonOptions(command).action(async (flags: ArchiveFlags) => {
    const session = new Session(flags, io);
    const { signal, done } = interrupted();
    try {
      const isTrial = flags.dryRun === true;
      await session.reading(async (store) => {
        const archive = requireAuditArchive({ config: session.config, store });
        const order = { isTrial, isUrgent: true, signal, onProgress: progressOn(session) };
        const parts = await archive.move(order);
        const state = await archive.state();
        tell({ parts, state, archive, isTrial, isStopped: signal.aborted }, session);
        if (signal.aborted) finish(EXIT.cancelled);
        else finish(isDone({ parts, state, isTrial }) ? EXIT.success : EXIT.toolFailed);
      });
    } finally {
      done();
    }
  });
}

interface Told {
  parts: ArchivedPart[];
  state: ArchiveState;
  archive: AuditArchive;
  isTrial: boolean;
  isStopped: boolean;
}

function isDone({ parts, state, isTrial }: Pick<Told, "parts" | "state" | "isTrial">): boolean {
  const isEach = parts.length === state.waiting.length;
  return parts.every(({ problem }) => !problem) && (isTrial ? isEach : state.waiting.length === 0);
}

function tell({ parts, state, archive, isTrial, isStopped }: Told, { output }: Session): void {
  const { waiting, last } = state;
  output.result({ dryRun: isTrial, months: parts, waiting, last: last ?? null }, () => {
    const ended =
      last && `The last one is ${last.month}, ${last.units} units${last.name ? ` in ${last.name}` : ""}.`;
    const lines = [`No month ended more than ${archive.days} days ago and is still in the database.`, ended];
    if (parts.length === 0 && waiting.length === 0) return lines.filter((line) => line).join(" ");
    if (parts.length === 0)
      return isStopped
        ? "Stopped. What was done is kept."
        : "Another process is moving months at this moment.";
    const rows = parts.map(({ month, units, name = "", problem }) => [
      month,
      problem ? "" : String(units),
      problem ? `stays: ${visible(problem.message)}` : isTrial ? `would go to ${name}` : name || "was empty",
    ]);
    return table([["MONTH", "UNITS", ""], ...rows], "");
  });
}

const NOTE_EVERY_MS = 2_000;
const STEPS = { check: "checked", write: "written", "read back": "being read back" } as const;

/** Says how far the work is, when it takes long. */
function progressOn({ output }: Session): (progress: ArchiveProgress) => void {
  let last = performance.now();
  return ({ month, step, units }) => {
    if (performance.now() - last < NOTE_EVERY_MS) return;
    last = performance.now();
    output.note(`${month}: ${units === 0 ? "" : `${units} units `}${STEPS[step]}`);
  };
}
