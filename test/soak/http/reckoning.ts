import type { CallRecord } from "@sallyport/engine/ports";
import { type Entry, inWords, sameEnd } from "./book.ts";
import { type Kept, recordedEnd } from "./kept-records.ts";
import type { LoadRun } from "./load-run.ts";

/** Calls that run at once in one process, so that one kill cannot leave more of them open. */
const MOST_AT_ONCE = 64;
/** Refused without ever becoming a call. */
const NO_CALL = new Set(["E3904", "E3910", "E3942"]);

/** Every way in which the server is not what callers were promised; none is the goal. */
export function breachesOf({ book, kills }: LoadRun, kept: Kept): string[] {
  const entries = [...book.entries.values()];
  return [
    ...book.breaches,
    ...entries.flatMap((entry) => broken(entry, kept)),
    ...stillOpen(kept),
    ...unexplained(kept, kills),
    ...runTwice(kept),
    ...doneTwice(kept),
    ...hollow(kept),
    ...miscounted(kept),
  ];
}

/** What was said of this call and does not hold. */
function broken({ order, callId, accepted, cancelled, end, watchedEnd }: Entry, { records }: Kept): string[] {
  if (callId === undefined) return [];
  const record = records.get(callId);
  const name = `${order.key} (${order.tool}, ${callId})`;
  if (!record) {
    const wasRefused = !accepted && NO_CALL.has(end?.code ?? "");
    return wasRefused ? [] : [`lost: ${name}, told ${inWords(end ?? "accepted")}`];
  }
  const kept = recordedEnd(record);
  const wrong: string[] = [];
  if (end && !sameEnd(end, kept)) wrong.push(`${name} was told ${inWords(end)}, kept is ${inWords(kept)}`);
  if (cancelled && kept.status !== "cancelled") wrong.push(`${name} was cancelled and is ${inWords(kept)}`);
  if (watchedEnd !== undefined && watchedEnd !== kept.status)
    wrong.push(`${name}: its events said ${watchedEnd}, kept is ${inWords(kept)}`);
  return wrong;
}

function stillOpen({ records }: Kept): string[] {
  const open = [...records.values()].filter(({ phase }) => phase !== "closed" && phase !== "unknown");
  return open.map(({ callId, phase, tool }) => `left ${phase}: ${callId} (${tool})`);
}

/** Unknown, and interrupted, are only what can have run when the server was killed. */
function unexplained({ records }: Kept, kills: readonly number[]): string[] {
  const cut = [...records.values()].filter((record) => isCut(record));
  const wrong = cut.filter(({ startedAt }) => !kills.some((at) => at >= startedAt));
  const unknown = cut.filter(({ phase }) => phase === "unknown");
  const harmless = unknown.filter(({ sideEffects }) => sideEffects !== "external");
  return [
    ...wrong.map(({ callId }) => `no kill explains ${callId}`),
    ...harmless.map(({ callId }) => `${callId} changes nothing outside and is unknown`),
    ...(cut.length > kills.length * MOST_AT_ONCE ? [`${cut.length} cut calls by ${kills.length} kills`] : []),
  ];
}

export function isCut(record: CallRecord): boolean {
  return record.phase === "unknown" || recordedEnd(record).code === "E3107";
}

/** The same order is one call, however often it was asked for. */
function runTwice({ records }: Kept): string[] {
  const seen = new Set<string>();
  const twice: string[] = [];
  for (const record of records.values()) {
    const { key } = JSON.parse(record.input) as { key: string };
    const hasRun = record.phase === "unknown" || record.closing?.status === "success";
    if (hasRun && seen.has(key)) twice.push(`run twice: ${key}`);
    if (hasRun) seen.add(key);
  }
  return twice;
}

function doneTwice({ witness, records }: Kept): string[] {
  const seen = new Set<string>();
  return witness.flatMap(({ key, callId }) => {
    const isNew = !seen.has(key);
    seen.add(key);
    return [
      ...(isNew ? [] : [`done twice: ${key}`]),
      ...(records.has(callId) ? [] : [`unrecorded: ${key} was done by ${callId}`]),
    ];
  });
}

/** A success outside has left its trace. */
function hollow({ witness, records }: Kept): string[] {
  const done = new Set(witness.map(({ callId }) => callId));
  const paid = [...records.values()].filter(
    ({ sideEffects, closing }) => sideEffects === "external" && closing?.status === "success",
  );
  return paid.filter(({ callId }) => !done.has(callId)).map(({ callId }) => `hollow: ${callId}`);
}

/** Each success counted once: the values that were given out are 1, 2, 3 … and the counter stands at the last. */
function miscounted({ records, counters }: Kept): string[] {
  const values = new Map<string, number[]>();
  for (const record of records.values()) {
    if (record.tool !== "count" || record.closing?.status !== "success") continue;
    const { result } = recordedEnd(record);
    const list = values.get(record.agent) ?? [];
    list.push((result as { value: number }).value);
    values.set(record.agent, list);
  }
  return [...counters].flatMap(([agent, stands]) => {
    const given = (values.get(agent) ?? []).toSorted((a, b) => a - b);
    const isRight = stands === given.length && given.every((value, index) => value === index + 1);
    return isRight ? [] : [`${agent}'s counter stands at ${stands} after ${given.length} successes`];
  });
}
