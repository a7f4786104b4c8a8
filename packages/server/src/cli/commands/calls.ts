import type { RecoveryVerdict } from "@sallyport/engine";
import type { CallFilter, CallRecord, Store } from "@sallyport/engine/ports";
import { failure, INVOCATION_FILTERS, type JsonValue, SallyportError } from "@sallyport/protocol";
import { Command, InvalidArgumentError, Option } from "commander";
import { type EngineAccess, reachDesk } from "../../desk/index.ts";
import { stageFilter } from "../../stage-filter.ts";
import { EXIT, exitCodeOfAnswer } from "../exit-codes.ts";
import { type Io, table } from "../io.ts";
import { printAnswer } from "../print-answer.ts";
import { readInput } from "../read-input.ts";
import { answerDocument, callText } from "../render-answer.ts";
import { type CommonOptions, Session, withCommonOptions } from "../session.ts";
import { resumeOnce, waitForPerson } from "../wait-for-person.ts";

const MAX_ROWS = 1_000;

/** `sallyport calls`: the journal, and what to do about calls that a crash cut off. */
export function callsCommand(io: Io, finish: (code: number) => void): Command {
  const command = new Command("calls").description("look at recorded calls and settle interrupted ones");
  command.addCommand(listCommand(io));
  command.addCommand(showCommand(io));
  command.addCommand(resumeCommand(io, finish));
  command.addCommand(recoverCommand(io, finish));
  return command;
}

/** What is asked for; `before` is the id of a call, whose place the store knows. */
type ListFilter = Omit<CallFilter, "before"> & { before?: string };

interface ListOptions extends CommonOptions {
  tool?: string;
  status?: (typeof INVOCATION_FILTERS)[number];
  phase?: CallRecord["phase"];
  tenant?: string;
  agent?: string;
  before?: string;
  limit: number;
}

function listCommand(io: Io): Command {
  const command = new Command("list")
    .description("list calls, newest first; calls that run and are not on record yet come first")
    .option("--tool <id>", "only calls of this tool")
    .option("--tenant <id>", "only calls of this tenant")
    .option("--agent <id>", "only calls of this agent")
    .addOption(new Option("--status <status>", "only calls that stand so").choices(INVOCATION_FILTERS))
    .addOption(
      new Option("--phase <phase>", "only calls in this phase").choices([
        "waiting",
        "queued",
        "executing",
        "unknown",
        "closed",
      ]),
    )
    .option("--before <call>", "start after this call: the last one of the previous page")
    .option("--limit <rows>", `maximum number of rows, 1 to ${MAX_ROWS}`, rows, 20);
  return withCommonOptions(command).action(async (options: ListOptions) => {
    const session = new Session(options, io);
    const { config: _config, stateDir: _stateDir, json: _json, status, limit, ...rest } = options;
    const narrowed = { ...rest, ...(status !== undefined && stageFilter(status)) };
    // A status and a phase that exclude each other: no call has both.
    const isImpossible = rest.phase !== undefined && rest.phase !== narrowed.phase;
    const calls = isImpossible ? [] : await listed({ ...narrowed, limit }, session);
    const isNarrowed = Object.keys(narrowed).length > 0;
    session.output.result(calls.map(listDocument), () => listText(calls, isNarrowed));
  });
}

type RunningCall = Awaited<ReturnType<EngineAccess["running"]>>[number];
type ListedCall = CallRecord | (RunningCall & Pick<CallRecord, "phase"> & { closing?: undefined });

async function listed(filter: ListFilter, session: Session): Promise<ListedCall[]> {
  // First those that run: one that ends meanwhile is on record then, and the record counts.
  const running = await unrecorded(filter, session);
  const records = await session.reading((store) => recorded(filter, store));
  const onRecord = new Set(records.map(({ callId }) => callId));
  return [...running.filter(({ callId }) => !onRecord.has(callId)), ...records];
}

/** Throws E3917 when `before` is not on record. */
async function recorded({ before, ...filter }: ListFilter, { calls }: Store): Promise<CallRecord[]> {
  if (before === undefined) return await calls.list(filter);
  const last = await calls.get(before);
  if (!last) throw new SallyportError(failure("E3917", { message: `There is no call ${before} on record.` }));
  return await calls.list({ ...filter, before: { at: last.startedAt, id: last.callId } });
}

/** Calls that a server runs and that are not on record yet; they come before the first page. */
async function unrecorded(
  { phase = "executing", status, before, ...filter }: ListFilter,
  { config, output }: Session,
): Promise<ListedCall[]> {
  if (phase !== "executing" || status !== undefined || before !== undefined) return [];
  try {
    const desk = await reachDesk(config.stateFolder);
    const running = (await desk?.running(filter)) ?? [];
    desk?.close();
    return running.filter(({ onRecord }) => !onRecord).map((call) => ({ ...call, phase }));
  } catch (error) {
    output.note(`! The list lacks calls that run and are not on record yet: ${String(error)}`);
    return [];
  }
}

function rows(text: string): number {
  const count = Number(text);
  if (!Number.isInteger(count) || count < 1 || count > MAX_ROWS) {
    throw new InvalidArgumentError(`a whole number from 1 to ${MAX_ROWS}`);
  }
  return count;
}

function listText(calls: ListedCall[], isNarrowed: boolean): string {
  const header = ["CALL", "STARTED", "TOOL", "OPERATION", "AGENT", "STATUS"];
  const lines = calls.map((record) => [
    record.callId,
    new Date(record.startedAt).toISOString(),
    `${record.tool}@${record.version}`,
    record.operation,
    record.agent,
    record.closing?.status ?? record.phase,
  ]);
  return table(
    [header, ...lines],
    isNarrowed
      ? "No call matches."
      : 'No calls yet. Make one: sallyport call calculator --operation add \'{"a":2,"b":3}\'',
  );
}

function listDocument(call: ListedCall) {
  return "input" in call
    ? recordDocument(call)
    : { ...call, startedAt: new Date(call.startedAt).toISOString() };
}

function showCommand(io: Io): Command {
  const command = new Command("show")
    .description("show one call; with --json everything on record about it")
    .argument("<call>", "id of the call");
  return withCommonOptions(command).action(async (callId: string, options: CommonOptions) => {
    const session = new Session(options, io);
    const record = await session.reading((store) => store.calls.get(callId));
    if (!record) throw new SallyportError(failure("E3917", { message: `There is no call ${callId}.` }));
    session.output.result(recordDocument(record), () => callText(record, session.output));
  });
}

function recordDocument(record: CallRecord) {
  const { closing, input, ...rest } = record;
  return {
    ...rest,
    startedAt: new Date(record.startedAt).toISOString(),
    input: JSON.parse(input) as JsonValue,
    ...(closing && { outcome: answerDocument(closing.answer) }),
    ...(closing?.timeline && { timeline: closing.timeline }),
  };
}

function resumeCommand(io: Io, finish: (code: number) => void): Command {
  const command = new Command("resume")
    .description("continue a call that waited for approval")
    .argument("<call>", "id of the call")
    .option("--wait", "wait until a person has answered");
  return withCommonOptions(command).action(
    async (callId: string, options: CommonOptions & { wait?: boolean }) => {
      const session = new Session(options, io);
      const answer = await resumeOnce(callId, session);
      const waits = options.wait && answer.status === "pending_approval";
      const final = waits ? await waitForPerson(answer, session) : answer;
      printAnswer(final, session.output);
      finish(exitCodeOfAnswer(final));
    },
  );
}

interface RecoverOptions extends CommonOptions {
  as?: "completed" | "rolled_back";
  note?: string;
  result?: string;
}

const RECOVER_HELP = `
After a crash every call that was open gets a verdict. Nothing is ever run again by itself:
  never started    nothing of it took effect; it is closed
  completed        its outcome is on record; asking again with its idempotency key gives it
  outcome unknown  it may have changed the world; find out, then close it:
    $ sallyport calls recover CALL --as completed --note "saw the payment in the ledger"
    $ sallyport calls recover CALL --as rolled_back --note "no trace of it at the bank"`;

function recoverCommand(io: Io, finish: (code: number) => void): Command {
  const command = new Command("recover")
    .description("list verdicts on interrupted calls, or close one yourself")
    .argument("[call]", "the call to close")
    .addOption(new Option("--as <outcome>", "what you found out").choices(["completed", "rolled_back"]))
    .option("--note <text>", "how you know the outcome; kept on record")
    .option("--result <json>", "the result, if there was one (JSON, @file or -)")
    .addHelpText("after", RECOVER_HELP);
  return withCommonOptions(command).action(async (callId: string | undefined, options: RecoverOptions) => {
    const session = new Session(options, io);
    finish(callId === undefined ? await showVerdicts(session) : await closeCall(callId, options, session));
  });
}

async function showVerdicts(session: Session): Promise<number> {
  const verdicts = await session.inRuntime(async ({ recovered }) => recovered);
  const document = verdicts.map((given) => ({
    callId: given.callId,
    verdict: given.verdict,
    reason: reasonOf(given),
  }));
  const header = ["CALL", "VERDICT", "WHY"];
  const lines = document.map(({ callId, verdict, reason }) => [callId, verdict.replaceAll("_", " "), reason]);
  session.output.result(document, () => table([header, ...lines], "No interrupted calls."));
  return EXIT.success;
}

function reasonOf(verdict: RecoveryVerdict): string {
  return verdict.verdict === "completed" ? "its outcome is on record" : verdict.reason;
}

async function closeCall(callId: string, options: RecoverOptions, session: Session): Promise<number> {
  const { as, note } = options;
  if (as === undefined || note === undefined) {
    const message = "To close a call say what happened and how you know.";
    throw new SallyportError(
      failure("E3921", { message, advice: "Add --as completed|rolled_back and --note." }),
    );
  }
  const result =
    options.result === undefined ? undefined : ((await readInput(options.result, session.io)) as JsonValue);
  const by = session.caller({}).user ?? "operator";
  const closed = await session.withEngine((desk) =>
    desk.closeByPerson({ callId, as, note, by, ...(result !== undefined && { result }) }),
  );
  if ("code" in closed) throw new SallyportError(closed);
  session.output.result(answerDocument(closed), () => `Closed ${callId} as ${as.replace("_", " ")}.`);
  return EXIT.success;
}
