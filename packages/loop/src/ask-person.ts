import type { AlwaysAllow } from "@sallyport/engine";
import { type CallAnswer, type Failure, isFailure, type JsonValue } from "@sallyport/protocol";
import type { BatchContext } from "./context.ts";
import { orderOf } from "./context.ts";
import { raceAbort } from "./event-channel.ts";
import type { ApprovalDecision, PersonDecision, Question } from "./events.ts";
import type { PlannedCall } from "./planner.ts";
import { certainRefusal } from "./preview-batch.ts";
import type { ResultText } from "./results.ts";
import { resultForModel } from "./results.ts";
import { MESSAGES } from "./settings.ts";
import type { LoopTool } from "./tools.ts";

type Confirmed = Extract<PlannedCall, { kind: "confirm" }> & { callId: string };

/** What became of a question. */
export type QuestionOutcome =
  | { kind: "approved" /** Redacted: what the person made of the arguments. */; changed?: JsonValue }
  | { kind: "denied"; message: string }
  /** It was not even asked: the engine refused, or answered at once. */
  | { kind: "answered"; told: ResultText };

interface Open extends Question {
  callId: string;
  /** Of the question as it is shown. */
  digest: string;
  /** Why arguments of the person's could not run. */
  preflight(input: JsonValue): Promise<Failure | undefined>;
}

/** How often a person may give an answer that cannot be used before it counts as a no. */
const ROUNDS = 20;

/**
 * Puts every call that needs a person on record as a question, shows them together, and carries the answers out. When
 * this ends no question is open any more (FR-APR-03).
 */
export async function askPerson(
  calls: readonly Confirmed[],
  context: BatchContext,
): Promise<Map<number, QuestionOutcome>> {
  const settled = new Map<number, QuestionOutcome>();
  if (calls.length === 0) return settled;
  let open: Open[] = [];
  for (const call of calls) {
    const put = await putQuestion(call, context);
    if ("kind" in put) settled.set(call.index, put);
    else open.push(put);
  }
  for (let round = 0; open.length > 0 && round < ROUNDS && !context.signal.aborted; round += 1) {
    const words = wordsOf(await decided(open, context), open);
    const refused: Open[] = [];
    for (const question of open) {
      const word = words.get(question.index) ?? { kind: "deny" };
      const outcome = context.signal.aborted ? undefined : await carryOut(word, question, context);
      if (outcome) settled.set(question.index, outcome);
      else refused.push(question);
    }
    open = refused;
  }
  for (const question of open) settled.set(question.index, await withdraw(question, context));
  return settled;
}

async function putQuestion(call: Confirmed, context: BatchContext): Promise<Open | QuestionOutcome> {
  const { engine, person } = context;
  const { tool, callId } = call;
  const answer = await engine.call({
    ...orderOf(call, context),
    requireApproval: true,
    onApproval: person ? "pending" : "deny",
  });
  const approvalId = answer.approval?.approvalId;
  const record = approvalId === undefined ? undefined : await engine.approvals.get(approvalId);
  if (answer.status !== "pending_approval" || !record) return notAsked(answer, tool);
  return {
    index: call.index,
    id: call.id,
    name: call.name,
    summary: record.summary,
    risk: record.risk,
    input: record.input,
    because: record.because,
    approvalId: record.approvalId,
    callId,
    digest: record.digest,
    preflight: async (input) =>
      (await tool.preflight?.(input, context.conversationId)) ?? (await certainRefusal(call, input, context)),
    ...(call.preview && { preview: call.preview }),
  };
}

function notAsked(answer: CallAnswer, tool: LoopTool): QuestionOutcome {
  return { kind: "answered", told: resultForModel(answer, tool) };
}

async function decided(open: readonly Open[], context: BatchContext): Promise<ApprovalDecision> {
  const { person, signal, tell } = context;
  const questions = open.map(
    ({ callId: _callId, digest: _digest, preflight: _preflight, ...question }) => question,
  );
  await tell({ kind: "state", state: { state: "awaiting_approval", questions } });
  try {
    const decision = person && (await raceAbort(person.decide(questions, signal), signal));
    return decision ?? { kind: "deny_all" };
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    if (!signal.aborted)
      await tell({ kind: "notice", level: "warning", text: `Nobody could be asked: ${why}` });
    return { kind: "deny_all", reason: "nobody could be asked" };
  } finally {
    await tell({ kind: "state", state: { state: "executing" } });
  }
}

function wordsOf(decision: ApprovalDecision, open: readonly Open[]): ReadonlyMap<number, PersonDecision> {
  switch (decision.kind) {
    case "each":
      return decision.words;
    case "approve_all":
      return new Map(open.map(({ index }) => [index, { kind: "approve" }]));
    case "approve_selected":
      return new Map(decision.indexes.map((index) => [index, { kind: "approve" }]));
    case "deny_all": {
      const { reason } = decision;
      return new Map(
        open.map(({ index }) => [index, { kind: "deny", ...(reason !== undefined && { reason }) }]),
      );
    }
  }
}

/** Undefined when the word could not be used and the question stays. */
async function carryOut(
  word: PersonDecision,
  question: Open,
  context: BatchContext,
): Promise<QuestionOutcome | undefined> {
  if (word.kind === "deny") return await deny(word.reason, question, context);
  const said =
    word.kind === "edit" ? await edit(word.input, question, context) : await approve(word, question, context);
  if (!isFailure(said)) return { kind: "approved", ...(word.kind === "edit" && { changed: said.input }) };
  context.person?.refused?.(question, said);
  return undefined;
}

async function deny(
  reason: string | undefined,
  { approvalId, callId }: Open,
  context: BatchContext,
): Promise<QuestionOutcome> {
  const { engine } = context;
  const order = { by: nameOf(context), reason: reason ?? "no reason given" };
  const denied = await engine.approvals.deny(approvalId, order);
  // Somebody else may have answered meanwhile: then it does not run either.
  if (isFailure(denied)) await engine.cancelCall(callId, { reason: "denied in the conversation" });
  return { kind: "denied", message: deniedMessage(isFailure(denied) ? denied.message : reason) };
}

async function edit(input: JsonValue, { preflight, approvalId }: Open, context: BatchContext) {
  const unfit = await preflight(input);
  return unfit ?? (await context.engine.approvals.edit(approvalId, { by: nameOf(context), input }));
}

async function approve(
  { always }: Extract<PersonDecision, { kind: "approve" }>,
  { approvalId, digest }: Open,
  context: BatchContext,
) {
  const bound = always && { always: inFolder(always, context) };
  return await context.engine.approvals.approve(approvalId, { by: nameOf(context), digest, ...bound });
}

function nameOf({ caller }: BatchContext): string {
  return caller.user ?? "the person at the terminal";
}

/** What is allowed for good is allowed here, unless the person names another folder. */
function inFolder(always: AlwaysAllow, { project }: BatchContext): AlwaysAllow {
  return project === undefined ? always : { project, ...always };
}

function deniedMessage(why: string | undefined): string {
  return why === undefined || why === "" ? MESSAGES.deniedByUser : `${MESSAGES.deniedByUser}: ${why}`;
}

async function withdraw({ callId }: Open, { engine, signal }: BatchContext): Promise<QuestionOutcome> {
  await engine.cancelCall(callId, { reason: "nobody answered" });
  return { kind: "denied", message: signal.aborted ? MESSAGES.cancelled : MESSAGES.deniedByUser };
}
