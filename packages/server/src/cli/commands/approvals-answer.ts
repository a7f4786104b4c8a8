import type { AlwaysAllow } from "@sallyport/engine";
import type { ApprovalRecord, ArgumentPattern, Store } from "@sallyport/engine/ports";
import {
  type CallAnswer,
  defined,
  type Failure,
  failure,
  isJsonObject,
  type JsonValue,
  SallyportError,
} from "@sallyport/protocol";
import { Command, InvalidArgumentError, Option } from "commander";
import type { EngineAccess } from "../../desk/index.ts";
import { must } from "../../must.ts";
import { EXIT, exitCodeOfAnswer } from "../exit-codes.ts";
import { interrupted } from "../interrupted.ts";
import { hint } from "../invoked-as.ts";
import { type Io, visible } from "../io.ts";
import { madeGrant, tellGrant } from "../made-grant.ts";
import { parseLength } from "../parse-length.ts";
import { personName, personWords } from "../person-text.ts";
import { printAnswer } from "../print-answer.ts";
import { readInput } from "../read-input.ts";
import { answerDocument } from "../render-answer.ts";
import { type CommonOptions, Session, withCommonOptions } from "../session.ts";
import { approvalDocument } from "./approvals-look.ts";

const LOOK_EVERY_MS = 100;

interface AnswerOptions extends CommonOptions {
  by?: string;
  digest?: string;
  run?: boolean;
}

interface ApproveOptions extends AnswerOptions {
  comment?: string;
  always?: "exact" | "any";
  alwaysArgument: ArgumentPattern[];
  alwaysAgent: "this" | "any";
  alwaysSession?: boolean;
  alwaysFor?: number;
}

const DIGEST_HELP = "digest of the question you saw; required once an approver changed the arguments";

const APPROVE_HELP = `
"Always" makes a standing grant: it answers the policy's question for calls like this one, never a deny, never a
question of a higher tier, and never for a tool that itself requires approval. See and revoke it with "sallyport grants".
  $ sallyport approvals approve ID --run
  $ sallyport approvals approve ID --always exact --always-for 7d
  $ sallyport approvals approve ID --always-argument '/path={"glob":"docs/*"}'`;

export function approveCommand(io: Io, finish: (code: number) => void): Command {
  const command = new Command("approve")
    .description("approve exactly this call")
    .argument("<approval>", "id of the approval")
    .option("--comment <text>", "comment to keep on record", personWords)
    .option("--digest <digest>", DIGEST_HELP)
    .option("--run", "run the call now and print its answer")
    .addOption(
      new Option("--always <arguments>", "and to every such call: same arguments, or any").choices([
        "exact",
        "any",
      ]),
    )
    .option(
      "--always-argument <pointer=pattern>",
      "and to calls whose argument fits (repeatable)",
      pattern,
      [],
    )
    .addOption(new Option("--always-agent <agent>", "whose calls").choices(["this", "any"]).default("this"))
    .option("--always-session", "only in the same session")
    .option("--always-for <time>", "for how long, such as 12h or 7d", parseLength)
    .addHelpText("after", APPROVE_HELP);
  return withAnswerOptions(command).action(async (approvalId: string, options: ApproveOptions) => {
    const session = new Session(options, io);
    const { comment, digest } = options;
    const always = alwaysOf(options, session);
    finish(
      await answer({ approvalId, session, options }, (desk, by) =>
        desk.approvals.approve(approvalId, {
          by,
          ...(comment !== undefined && { comment }),
          ...(digest !== undefined && { digest }),
          ...(always && { always }),
        }),
      ),
    );
  });
}

/** `/path={"glob":"docs/*"}` */
function pattern(text: string, before: ArgumentPattern[]): ArgumentPattern[] {
  const [pointer = "", ...rest] = text.split("=");
  try {
    const match: JsonValue = JSON.parse(rest.join("="));
    if (isJsonObject(match) && (pointer === "" || pointer.startsWith("/")))
      return [...before, { pointer, match }];
  } catch {
    // Said below, with an example.
  }
  throw new InvalidArgumentError(`a JSON Pointer and a pattern, such as '/path={"glob":"docs/*"}'`);
}

function alwaysOf(options: ApproveOptions, session: Session): AlwaysAllow | undefined {
  const { always, alwaysArgument: patterns, alwaysFor } = options;
  if (always === undefined && patterns.length === 0) {
    if (alwaysFor === undefined && !options.alwaysSession && options.alwaysAgent === "this") return undefined;
    const advice = "Add --always exact, --always any or --always-argument.";
    throw new SallyportError(failure("E3921", { message: "There is nothing to allow always.", advice }));
  }
  return {
    arguments: patterns.length > 0 ? patterns : (always ?? "exact"),
    agent: options.alwaysAgent,
    // Saying any at the command line is to mean it.
    ...(always === "any" && { anyArguments: true as const }),
    ...(options.alwaysSession && { session: "this" as const }),
    ...(alwaysFor !== undefined && { until: Date.now() + alwaysFor }),
    tier: session.config.approvals.grantTier,
  };
}

export function denyCommand(io: Io): Command {
  const command = new Command("deny")
    .description("deny the call at once")
    .argument("<approval>", "id of the approval")
    .requiredOption("--reason <text>", "what is wrong with it; the caller is told", personWords)
    .option("--by <name>", "who answers (default: you)", personName);
  return withCommonOptions(command).action(
    async (approvalId: string, options: AnswerOptions & { reason: string }) => {
      const session = new Session(options, io);
      const by = nameOf(session, options);
      const record = await session.withEngine(async (desk) =>
        must(await desk.approvals.deny(approvalId, { by, reason: options.reason })),
      );
      session.output.result(approvalDocument(record), () => visible(`Denied: ${record.summary}`));
    },
  );
}

export function editCommand(io: Io, finish: (code: number) => void): Command {
  const command = new Command("edit")
    .description("approve with other arguments; they are validated and authorised again")
    .argument("<approval>", "id of the approval")
    .argument("<input>", "the whole new input as JSON, @file, or - for standard input")
    .option("--digest <digest>", DIGEST_HELP)
    .option("--run", "run the call now and print its answer");
  return withAnswerOptions(command).action(
    async (approvalId: string, input: string, options: AnswerOptions) => {
      const session = new Session(options, io);
      const given = (await readInput(input, io)) as JsonValue;
      finish(
        await answer({ approvalId, session, options }, (desk, by) =>
          desk.approvals.edit(approvalId, { by, input: given, ...defined({ digest: options.digest }) }),
        ),
      );
    },
  );
}

function withAnswerOptions(command: Command): Command {
  return withCommonOptions(command.option("--by <name>", "who answers (default: you)", personName));
}

interface Answering {
  approvalId: string;
  session: Session;
  options: AnswerOptions;
}

/** Takes the answer and, when asked to, runs the call by it. */
async function answer(
  { approvalId, session, options }: Answering,
  say: (desk: EngineAccess, by: string) => ReturnType<EngineAccess["approvals"]["approve"]>,
): Promise<number> {
  return await session.withEngine(async (desk) => {
    // Asked before: afterwards the call may have run already.
    const goesOn = await desk.goesOnByItself(approvalId);
    const record = must(await say(desk, nameOf(session, options)));
    const grant = await madeGrant(desk, record.approvalId);
    const approval = { ...approvalDocument(record), ...(grant && { grantId: grant.grantId }) };
    if (grant && !session.output.json) tellGrant(grant, session.output);
    const settled = record.standing.state !== "pending";
    if (!options.run || !settled) return tell(session, { record, approval, goesOn });
    const ran = must(await goOn(desk, { callId: record.callId, goesOn, session }));
    if (session.output.json) session.output.result({ approval, call: answerDocument(ran) }, () => "");
    else printAnswer(ran, session.output);
    return exitCodeOfAnswer(ran);
  });
}

/** Runs the call, or waits for the end of the run that the server begins by itself. */
async function goOn(
  desk: EngineAccess,
  { callId, goesOn, session }: { callId: string; goesOn: boolean; session: Session },
): Promise<CallAnswer | Failure> {
  const { signal, done } = interrupted();
  const isOver = async (store: Store) => {
    const call = await store.calls.get(callId);
    return !call || call.phase === "closed" || call.phase === "unknown";
  };
  try {
    if (goesOn) await session.looking(isOver, { everyMs: LOOK_EVERY_MS, signal });
    if (goesOn && signal.aborted)
      return failure("E3906", { message: `The server goes on with call ${callId}.` });
    return await desk.resume(callId, { signal, disclosure: "full" });
  } finally {
    done();
  }
}

interface Told {
  record: ApprovalRecord;
  approval: object;
  goesOn: boolean;
}

function tell(session: Session, { record, approval, goesOn }: Told): number {
  const missing = record.quorum - record.votes.length;
  const next =
    record.standing.state === "pending"
      ? `${missing} more ${missing === 1 ? "person has" : "people have"} to agree.`
      : goesOn
        ? `The server runs it now; what comes of it: sallyport calls show ${record.callId}`
        : `A command that waits for this answer runs it now. If none does: sallyport calls resume ${record.callId}`;
  session.output.result(approval, () => visible(`Approved: ${record.summary}\n${hint(next)}`));
  return EXIT.success;
}

function nameOf(session: Session, { by }: AnswerOptions): string {
  return by ?? session.caller({}).user ?? "operator";
}
