import { type CallAnswer, isFailure, type JsonValue } from "@sallyport/protocol";
import { type BatchContext, orderOf } from "./context.ts";
import { raceAbort } from "./event-channel.ts";
import type { ApprovalDecision, PersonDecision, Question } from "./events.ts";
import { effectsOf, type PlannedCall } from "./planner.ts";
import { MESSAGES } from "./settings.ts";

type Confirmed = Extract<PlannedCall, { kind: "confirm" }> & { callId: string };

/** What became of a question. */
export type QuestionOutcome =
  | { kind: "approved" /** Redacted: what the person made of the arguments. */; changed?: JsonValue }
  | { kind: "denied"; message: string }
  /** It was not even asked: the engine refused, or answered at once. */
  | { kind: "answered"; answer: CallAnswer };

interface OpenQuestion {
  question: Question;
  /** Of the question as it is shown. */
  digest: string;
  call: Confirmed;
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
  const { engine, signal } = context;
  const outcomes = new Map<number, QuestionOutcome>();
  let open: OpenQuestion[] = [];
  for (const call of calls) {
    const put = await putQuestion(call, context);
    if ("kind" in put) outcomes.set(call.index, put);
    else open.push(put);
  }
  for (let round = 0; open.length > 0 && round < ROUNDS && !signal.aborted; round += 1) {
    const questions = open.map(({ question }) => question);
    const decision = await decided(questions, context);
    const refused: OpenQuestion[] = [];
    for (const one of open) {
      const word = wordFor(one.call.index, decision);
      const outcome = signal.aborted ? undefined : await carryOut(word, one, context);
      if (outcome) outcomes.set(one.call.index, outcome);
      else refused.push(one);
    }
    open = refused;
  }
  const message = signal.aborted ? MESSAGES.cancelled : MESSAGES.deniedByUser;
  for (const { call } of open) {
    await engine.cancelCall(call.callId, { reason: "nobody answered" });
    outcomes.set(call.index, { kind: "denied", message });
  }
  return outcomes;
}

async function putQuestion(call: Confirmed, context: BatchContext): Promise<OpenQuestion | QuestionOutcome> {
  const { engine, person } = context;
  const onApproval = person ? "pending" : "deny";
  const answer = await engine.call({ ...orderOf(call, context), requireApproval: true, onApproval });
  const asked = answer.approval && (await engine.approvals.get(answer.approval.approvalId));
  if (answer.status !== "pending_approval" || !asked) return { kind: "answered", answer };
  const { index, id, name, preview } = call;
  const { approvalId, summary, risk, input, because, digest } = asked;
  const question = { index, id, name, summary, risk, input, because, approvalId };
  return { question: { ...question, ...(preview && { preview }) }, digest, call };
}

async function decided(questions: readonly Question[], context: BatchContext): Promise<ApprovalDecision> {
  const { person, signal, tell } = context;
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

/** A question that the decision leaves out is denied. */
function wordFor(index: number, decision: ApprovalDecision): PersonDecision {
  switch (decision.kind) {
    case "each":
      return decision.words.get(index) ?? { kind: "deny" };
    case "approve_all":
      return { kind: "approve" };
    case "approve_selected":
      return { kind: decision.indexes.includes(index) ? "approve" : "deny" };
    case "deny_all":
      return { ...decision, kind: "deny" };
  }
}

/** Undefined when the word could not be used and the question stays. */
async function carryOut(
  word: PersonDecision,
  open: OpenQuestion,
  context: BatchContext,
): Promise<QuestionOutcome | undefined> {
  if (word.kind === "deny") return await deny(word.reason, open, context);
  const said = await (word.kind === "edit" ? edit(word.input, open, context) : approve(word, open, context));
  if (!isFailure(said)) return { kind: "approved", ...(word.kind === "edit" && { changed: said.input }) };
  context.person?.refused?.(open.question, said);
  return undefined;
}

async function deny(
  reason: string | undefined,
  { question, call }: OpenQuestion,
  context: BatchContext,
): Promise<QuestionOutcome> {
  const { engine } = context;
  const order = { by: nameOf(context), reason: reason ?? "no reason given" };
  const denied = await engine.approvals.deny(question.approvalId, order);
  // Somebody else may have answered meanwhile: then it does not run either.
  if (isFailure(denied)) await engine.cancelCall(call.callId, { reason: "denied in the conversation" });
  const why = isFailure(denied) ? denied.message : reason;
  return { kind: "denied", message: why ? `${MESSAGES.deniedByUser}: ${why}` : MESSAGES.deniedByUser };
}

async function edit(input: JsonValue, { question, digest, call }: OpenQuestion, context: BatchContext) {
  const unfit = await call.tool.preflight?.(input, context.conversationId);
  if (unfit) return unfit;
  const effects = await effectsOf(call, input, context);
  if (effects && isFailure(effects)) return effects;
  const edited = { by: nameOf(context), input, digest };
  return await context.engine.approvals.edit(question.approvalId, edited);
}

/** What is allowed for good is allowed in this folder, unless the person names another. */
async function approve(
  { always }: Extract<PersonDecision, { kind: "approve" }>,
  { question, digest }: OpenQuestion,
  context: BatchContext,
) {
  const { engine, project } = context;
  const inFolder = always && { always: { ...(project !== undefined && { project }), ...always } };
  return await engine.approvals.approve(question.approvalId, { by: nameOf(context), digest, ...inFolder });
}

function nameOf({ caller }: BatchContext): string {
  return caller.user ?? "the person at the terminal";
}
