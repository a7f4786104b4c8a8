import { type CallAnswer, type Failure, isFailure } from "@sallyport/protocol";
import { verifyChain } from "../../audit/index.ts";
import type { CallRecord } from "../../ports/calls.ts";
import type { Store } from "../../ports/store.ts";
import type { Line, ToldEnd } from "./simulated-fleet.ts";

/** What a client wants made. Its key is its identity. */
export interface Order {
  key: string;
  tool: "pay" | "transfer" | "count";
  isAsync: boolean;
  ms: number;
}

/** What a client was told of an order. */
export interface Told {
  order: Order;
  /** The id under which the call was accepted. */
  accepted?: string;
  /** The call of the last answer: one that is on record is answered with again, one that was only shared is not. */
  before?: string;
  answer?: CallAnswer;
}

/** What outsiders have seen once everything is at rest. */
export interface Outcome {
  store: Store;
  told: readonly Told[];
  lines: readonly Line[];
  callbacks: readonly ToldEnd[];
  grantId: string;
  /** There were no faults. */
  isQuiet: boolean;
}

type Close = (callId: string) => Promise<CallAnswer | Failure>;

/** Every promise that was broken, found by comparing what was told and done with the record. Closes what is unknown. */
export async function broken(outcome: Outcome, close: Close): Promise<string[]> {
  const { store } = outcome;
  const records = await store.calls.list({ limit: 100_000 });
  const calls = new Map(records.map((record) => [record.callId, record]));
  const { findings } = await verifyChain(store.audit, "acme");
  return [
    ...open(records),
    ...(outcome.isQuiet ? unexplained(records) : []),
    ...toldOtherwise(outcome, calls),
    ...ranWrongly(outcome, calls),
    ...(await calledBackWrongly(outcome, records)),
    ...(await miscounted(outcome, records)),
    ...findings.map(({ message }) => `chain: ${message}`),
    ...(await unclosable(records, close)),
  ];
}

function open(records: readonly CallRecord[]): string[] {
  return records
    .filter(({ phase }) => phase !== "closed" && phase !== "unknown")
    .map(({ callId, tool, phase, owner }) => `open: ${tool} ${callId} is ${phase}, owner ${owner}`);
}

/** Two calls can count at once: the second one is told so. */
const USUAL = new Set(["E3704"]);

/** Where nothing failed, every call is a success. */
function unexplained(records: readonly CallRecord[]): string[] {
  return records.flatMap(({ callId, tool, phase, closing }) => {
    const { answer } = closing ?? {};
    const code = answer && "error" in answer ? answer.error.code : phase;
    const isUsual = answer?.status === "success" || USUAL.has(code);
    return isUsual ? [] : [`unexplained: ${tool} ${callId} is ${code}`];
  });
}

function toldOtherwise({ told }: Outcome, calls: ReadonlyMap<string, CallRecord>): string[] {
  return told.flatMap(({ order: { key, isAsync }, accepted, answer }) => {
    if (!answer && !(isAsync && accepted)) return [`unanswered: ${key}`];
    if (accepted !== undefined && !calls.has(accepted)) return [`lost: ${key} was accepted as ${accepted}`];
    if (answer && accepted !== undefined && answer.callId !== accepted)
      return [`lost: ${key} was accepted as ${accepted} and answered as ${answer.callId}`];
    if (answer?.status !== "success") return [];
    const status = calls.get(answer.callId)?.closing?.status;
    return status === "success" ? [] : [`lost: ${key} was told as a success and is ${status} on record`];
  });
}

/** Nothing outside is done twice, or without a record, or against it. */
function ranWrongly({ lines }: Outcome, calls: ReadonlyMap<string, CallRecord>): string[] {
  const twice = [...Map.groupBy(lines, ({ what, key }) => `${key} ${what}`)]
    .filter(([, runs]) => runs.length > 1)
    .map(([line, runs]) => `twice: ${line} ${runs.length} times`);
  const paid = new Set(lines.filter(({ what }) => what === "paid").map(({ callId }) => callId));
  const denied = [...paid].filter((callId) => {
    const call = calls.get(callId);
    return !call || (call.phase === "closed" && call.closing?.status !== "success" && !isUnsure(call));
  });
  const hollow = [...calls.values()].filter(
    ({ callId, tool, closing }) => tool !== "count" && closing?.status === "success" && !paid.has(callId),
  );
  return [
    ...twice,
    ...denied.map((callId) => `denied: ${callId} was paid and is ${calls.get(callId)?.closing?.status}`),
    ...hollow.map(({ callId }) => `hollow: ${callId} is a success that nobody saw`),
  ];
}

/** It says itself that nobody knows whether it was done. */
function isUnsure({ closing }: CallRecord): boolean {
  const { answer } = closing ?? {};
  const code = answer && "error" in answer ? answer.error.code : undefined;
  return code === "E3909" || answer?.warnings.some((warning) => warning.code === "E3909") === true;
}

/** Who asked to be told is told what is on record; twice where a delivery was not on record. */
async function calledBackWrongly(
  { store, callbacks, told }: Outcome,
  records: readonly CallRecord[],
): Promise<string[]> {
  const accepted = new Set(told.flatMap((one) => (one.order.isAsync ? (one.accepted ?? []) : [])));
  const wrong = records.map(async ({ callId, phase, closing }) => {
    const statuses = new Set(callbacks.filter((one) => one.callId === callId).map(({ status }) => status));
    const callback = await store.callbacks.ofCall(callId);
    if (callback?.state === "due") return [`callback: ${callId} was not told`];
    const isDue = accepted.has(callId) && phase === "closed";
    if (statuses.size === 0)
      return isDue ? [`callback: ${callId} is ${closing?.status} and was not told`] : [];
    const isTrue = statuses.size === 1 && statuses.has(closing?.status);
    return isTrue ? [] : [`callback: ${callId} is ${closing?.status} and was told as ${[...statuses]}`];
  });
  return (await Promise.all(wrong)).flat();
}

/** The counter stands where the successes put it, and the grant where the runs did. */
async function miscounted(
  { store, lines, grantId }: Outcome,
  records: readonly CallRecord[],
): Promise<string[]> {
  const successes = records.filter(({ tool, closing }) => tool === "count" && closing?.status === "success");
  const value = await store.state.get(await store.state.open({ tenant: "acme", tool: "count" }), "n");
  const began = new Set(lines.map(({ callId }) => callId));
  // Where nobody knows whether it ran, the use stays spent.
  const used = records.filter(
    ({ tool, callId, phase }) => tool === "pay" && (began.has(callId) || phase === "unknown"),
  );
  const uses = (await store.grants.get(grantId))?.uses;
  return [
    ...(Number(value?.value ?? 0) === successes.length
      ? []
      : [`miscounted: ${value?.value} after ${successes.length} successes`]),
    ...(uses === used.length ? [] : [`uses: ${uses} are on record, ${used.length} calls ran or may have`]),
  ];
}

/** A person can close what nobody knows the end of. */
async function unclosable(records: readonly CallRecord[], close: Close): Promise<string[]> {
  const found: string[] = [];
  for (const { callId, phase } of records) {
    if (phase !== "unknown") continue;
    const answer = await close(callId);
    if (isFailure(answer)) found.push(`unclosable: ${callId}: ${answer.message}`);
  }
  return found;
}
