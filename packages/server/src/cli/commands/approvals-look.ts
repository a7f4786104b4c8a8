import { isFinal, levelAt, levelEndsAt, standingAt } from "@sallyport/engine/host";
import type { ApprovalRecord, ApprovalState, Store } from "@sallyport/engine/ports";
import { type FileEffects, failure, SallyportError } from "@sallyport/protocol";
import { Command, InvalidArgumentError } from "commander";
import { relativeText } from "../duration-text.ts";
import { effectsText, isFileEffects } from "../effects-text.ts";
import { interrupted } from "../interrupted.ts";
import { type Io, table, visible } from "../io.ts";
import { type CommonOptions, Session, withCommonOptions } from "../session.ts";

const MAX_ROWS = 1_000;
const OPEN: ApprovalState[] = ["pending", "approved", "edited", "reserved"];

interface ListOptions extends CommonOptions {
  all?: boolean;
  tenant?: string;
  before?: string;
  limit: number;
}

export function listCommand(io: Io): Command {
  const command = new Command("list")
    .description("list approvals that wait for an answer, or for their run, newest first")
    .option("--all", "include settled approvals")
    .option("--tenant <id>", "only approvals of this tenant")
    .option("--before <approval>", "start after this approval: the last one of the previous page")
    .option("--limit <rows>", `maximum number of rows, 1 to ${MAX_ROWS}`, rows, 50);
  return withCommonOptions(command).action(async (options: ListOptions) => {
    const session = new Session(options, io);
    const { tenant, before, limit, all } = options;
    const filter = { limit, ...(!all && { states: OPEN }), ...(tenant !== undefined && { tenant }) };
    const now = Date.now();
    const read = await session.reading(async ({ approvals }) => {
      if (before === undefined) return await approvals.list(filter);
      const last = await approvals.get(before);
      if (!last) throw unknownApproval(before);
      return await approvals.list({ ...filter, before: { at: last.createdAt, id: last.approvalId } });
    });
    const records = read.map((record) => ({ ...record, standing: standingAt(record, now) }));
    const shown = all ? records : records.filter(({ standing }) => !isFinal(standing.state));
    session.output.result(shown.map(approvalDocument), () => listText(shown, now));
  });
}

function rows(text: string): number {
  const count = Number(text);
  if (Number.isInteger(count) && count >= 1 && count <= MAX_ROWS) return count;
  throw new InvalidArgumentError(`a whole number from 1 to ${MAX_ROWS}`);
}

function listText(records: ApprovalRecord[], now: number): string {
  const header = ["APPROVAL", "STATE", "RISK", "EXPIRES", "AGENT", "WHAT"];
  const lines = records.map((record) => [
    record.approvalId,
    record.standing.state,
    record.risk,
    isFinal(record.standing.state) ? "-" : relativeText(record.expiresAt, now),
    record.agent,
    record.summary,
  ]);
  return table([header, ...lines], "Nothing waits for approval.");
}

export function showCommand(io: Io): Command {
  const command = new Command("show")
    .description("show everything about one approval")
    .argument("<approval>", "id of the approval");
  return withCommonOptions(command).action(async (approvalId: string, options: CommonOptions) => {
    const session = new Session(options, io);
    const record = await session.reading((store) => store.approvals.get(approvalId));
    if (!record) throw unknownApproval(approvalId);
    const now = Date.now();
    const shown = { ...record, standing: standingAt(record, now) };
    session.output.result(approvalDocument(shown), () => questionText(shown, now));
  });
}

export function unknownApproval(approvalId: string): SallyportError {
  return new SallyportError(failure("E3221", { message: `There is no approval ${approvalId}.` }));
}

/** The question as a person has to judge it. */
export function questionText(record: ApprovalRecord, now: number): string {
  const agreed =
    record.votes
      .map(
        ({ by, at, comment }) =>
          `${by} (${relativeText(at, now)}${comment === undefined ? "" : `: ${comment}`})`,
      )
      .join(", ") || "nobody";
  const lines = [
    record.summary,
    `  state      ${record.standing.state}${reasonOf(record)}`,
    `  risk       ${record.risk}`,
    `  why asked  ${record.reason}${record.rules.length > 0 ? ` (${record.rules.join(", ")})` : ""}`,
    `  call       ${record.callId}: ${record.tool} ${record.version} ${record.operation}`,
    `  caller     agent ${record.agent} of ${record.tenant}${record.user ? ` for ${record.user}` : ""}`,
    `  arguments  ${JSON.stringify(record.input)}${record.editedBy ? ` (changed by ${record.editedBy})` : ""}`,
    ...(record.effects === undefined || isFileEffects(record.effects)
      ? []
      : [`  effects    ${JSON.stringify(record.effects)}`]),
    `  asked      ${relativeText(record.createdAt, now)}, ${levelText(record, now)}`,
    ...(isFinal(record.standing.state) ? [] : [`  expires    ${relativeText(record.expiresAt, now)}`]),
    `  agreed     ${agreed}; ${record.quorum} needed`,
    `  digest     ${record.digest}`,
  ];
  // A name or a reason with line breaks in it must not look like another line of the question.
  const text = lines.map((line) => visible(line.replaceAll(/\s/g, " "))).join("\n");
  return isFileEffects(record.effects) ? `${text}\n${shownEffects(record.effects)}` : text;
}

/** What a yes commits, exactly. */
function shownEffects(effects: FileEffects): string {
  const plain = { style: (_style: string, text: string) => text };
  return `What it would change, and a yes commits:\n${effectsText(effects, plain, { diff: true })}`;
}

function levelText(record: ApprovalRecord, now: number): string {
  const level = levelAt(record, now);
  const where = `level ${level} of ${record.levels.length}`;
  const isWaiting = record.standing.state === "pending" && level < record.levels.length;
  return isWaiting ? `${where}, the next is asked ${relativeText(levelEndsAt(record, now), now)}` : where;
}

function reasonOf({ standing }: ApprovalRecord): string {
  if (standing.state === "denied") return ` by ${standing.by}: ${standing.reason}`;
  return "reason" in standing ? `: ${standing.reason}` : "";
}

const iso = (at: number): string => new Date(at).toISOString();

/** For programs: times as ISO 8601. */
export function approvalDocument(record: ApprovalRecord) {
  return {
    ...record,
    createdAt: iso(record.createdAt),
    expiresAt: iso(record.expiresAt),
    votes: record.votes.map((vote) => ({ ...vote, at: iso(vote.at) })),
    standing: {
      ...record.standing,
      ...("at" in record.standing && { at: iso(record.standing.at) }),
      ...("until" in record.standing && { until: iso(record.standing.until) }),
    },
  };
}

const LOOK_EVERY_MS = 500;

export function watchCommand(io: Io): Command {
  const command = new Command("watch")
    .description(
      "show questions as they come in and are answered, until Ctrl-C; --json prints one document a line",
    )
    .option("--tenant <id>", "only approvals of this tenant");
  return withCommonOptions(command).action(async (options: CommonOptions & { tenant?: string }) => {
    const session = new Session(options, io);
    const { signal, done } = interrupted(io.stdout);
    const seen = new Map<string, string>();
    try {
      const look = async (store: Store) => {
        await showChanges(store, session, { seen, tenant: options.tenant });
        return false;
      };
      await session.looking(look, { everyMs: LOOK_EVERY_MS, signal });
    } finally {
      done();
    }
  });
}

/** One line, or one JSON document, for each question that is new or stands otherwise than before. */
async function showChanges(
  store: Store,
  session: Session,
  { seen, tenant }: { seen: Map<string, string>; tenant: string | undefined },
): Promise<void> {
  const filter = { limit: 200, ...(tenant !== undefined && { tenant }) };
  const records = await store.approvals.list(filter);
  const now = Date.now();
  const first = seen.size === 0;
  for (const read of records.reverse()) {
    const record = { ...read, standing: standingAt(read, now) };
    const { state } = record.standing;
    if (seen.get(record.approvalId) === state) continue;
    seen.set(record.approvalId, state);
    if (first && isFinal(state)) continue;
    const line = session.output.json
      ? JSON.stringify(approvalDocument(record))
      : visible(
          `${new Date(now).toISOString()}  ${state.padEnd(9)}  ${record.approvalId}  ${record.summary}`,
        );
    void session.output.data(`${line}\n`);
  }
}
