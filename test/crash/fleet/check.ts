import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type pg from "pg";
import { brokenChains, type Recorded, readRecord } from "./audit-check.ts";
import type { Fault } from "./faults.ts";
import type { Told } from "./load.ts";
import { reading, type Tables } from "./tables.ts";

/*
 * What the fleet promised, compared with what outsiders can see: the tables, the lines the tools wrote, the callbacks
 * that came, the files. It uses nothing of the code it checks: its own SQL, its own hashes.
 */

/** A call as the table has it. */
interface Row {
  call_id: string;
  tool_id: string;
  phase: string;
  status: string | null;
  /** The link of its last unit. */
  hash: string;
  answer: {
    result?: unknown;
    error?: { code: string; message: string };
    warnings?: { code: string }[];
  } | null;
  parameters: { key: string; counter?: string };
}

/** A line of a tool. */
interface Line {
  what: "began" | "paid";
  key: string;
  callId: string;
  pid: number;
}

export interface World extends Tables {
  told: readonly Told[];
  witness: string;
  /** The callbacks that came, by the key of their call. */
  callbacks: ReadonlyMap<string, readonly { body: string }[]>;
  /** A note is in the folder of one of them. */
  replicas: readonly { folder: string; port: number; pids: ReadonlySet<number> }[];
  faults: readonly Fault[];
  /** How long after its end a fault can still end a call. */
  afterMs: number;
}

interface Found {
  calls: ReadonlyMap<string, Row>;
  record: ReadonlyMap<string, Recorded>;
  lines: readonly Line[];
}

/** Every promise that was broken; none is the goal. */
export async function breaches(world: World): Promise<string[]> {
  return await reading(world, async (client) => {
    const calls = await readCalls(client);
    const found = { calls, record: await readRecord(client), lines: readWitness(world.witness) };
    return [
      ...endedOtherThanOnce(found),
      ...toldOtherwise(calls, world.told),
      ...ranWrongly(found),
      ...unexplained(found, world),
      ...fencedInVain(calls, world),
      ...notedWrongly(calls, world),
      ...calledBackWrongly(calls, world),
      ...(await miscounted(client, calls)),
      ...(await brokenChains(client)),
    ];
  });
}

async function readCalls(client: pg.Client): Promise<Map<string, Row>> {
  const { rows } = await client.query(
    "SELECT call_id, tool_id, phase, status, hash, answer, parameters FROM calls",
  );
  const parsed = rows.map((row): Row => {
    const answer = row.answer === null ? null : JSON.parse(row.answer);
    return { ...row, answer, parameters: JSON.parse(row.parameters) };
  });
  return new Map(parsed.map((row) => [row.call_id, row]));
}

function readWitness(file: string): Line[] {
  if (!existsSync(file)) return [];
  const lines = readFileSync(file, "utf8").split("\n").filter(Boolean);
  return lines.map((line) => JSON.parse(line));
}

/** Every call has one end by now, in the table and in the chain, where its receipt points at it. */
function endedOtherThanOnce({ calls, record }: Found): string[] {
  return [...calls.values()].flatMap(({ call_id, tool_id, phase, status, hash }) => {
    if (phase !== "closed" && phase !== "unknown") return [`unended: ${tool_id} ${call_id} is ${phase}`];
    const { states = [], receipts } = record.get(call_id) ?? {};
    // A walk that could not begin ends rolled back, and the call goes on in another one.
    const completed = states.filter((state) => state === "COMPLETED").length;
    const isSo =
      completed === (status === "success" ? 1 : 0) &&
      // The process that ran it says so by leaving it aborted, any other by an event of its own.
      (phase === "closed" ||
        states.includes("OUTCOME_UNKNOWN") ||
        states.findLast((state) => state !== "REFUSED") === "ABORTED") &&
      receipts?.has(hash) === true;
    return isSo ? [] : [`ends: ${tool_id} ${call_id} is ${phase} ${status}, on record as ${states.join()}`];
  });
}

function toldOtherwise(calls: ReadonlyMap<string, Row>, told: readonly Told[]): string[] {
  return told.flatMap(({ order: { key }, callId, accepted, status, result, code }) => {
    if (accepted !== undefined && !calls.has(accepted)) return [`lost: ${key} was accepted as ${accepted}`];
    if (accepted !== undefined && callId !== undefined && callId !== accepted)
      return [`lost: ${key} was accepted as ${accepted} and answered as ${callId} (${code})`];
    const call = calls.get(callId ?? "");
    if (code === "E3909" && !call) return [`lost: ${key} is said to be unknown (${callId})`];
    if (status !== "success") return [];
    const same = call?.status === "success" && JSON.stringify(call.answer?.result) === JSON.stringify(result);
    return same ? [] : [`lost: ${key} was a success and is ${call?.status} on record`];
  });
}

/** No order runs twice or without a record, none is paid that is on record as not done, and none is not that is. */
function ranWrongly({ calls, lines }: Found): string[] {
  const twice = [...Map.groupBy(lines, ({ what, key }) => `${key} ${what}`)]
    .filter(([, runs]) => runs.length > 1)
    .map(([line, runs]) => `twice: ${line} ${runs.length} times`);
  const paid = lines.filter(({ what }) => what === "paid");
  const wrong = paid.flatMap(({ key, callId }) => {
    const call = calls.get(callId);
    if (!call) return [`unrecorded: ${key} was paid`];
    return isDone(call) !== false
      ? []
      : [`denied: ${key} was paid and is on record as ${call.status} ${call.answer?.error?.code}`];
  });
  const began = new Set(lines.map(({ callId }) => callId));
  const done = new Set(paid.map(({ callId }) => callId));
  const hollow = [...calls.values()].filter(
    ({ call_id, tool_id, status }) =>
      status === "success" && !(tool_id === "pay" || tool_id === "transfer" ? done : began).has(call_id),
  );
  return [
    ...twice,
    ...wrong,
    ...hollow.map(({ parameters }) => `hollow: ${parameters.key} succeeded unseen`),
  ];
}

/** Whether its effects outside are there; undefined where the record says that nobody knows. */
function isDone({ phase, status, answer }: Row): boolean | undefined {
  const isUnsure = phase === "unknown" || answer?.warnings?.some(({ code }) => code === "E3909");
  return isUnsure ? undefined : status === "success";
}

/** What can end a call that its tool did not end. Cut connections and wrong clocks end none. */
const ENDING: readonly Fault["name"][] = [
  "stall",
  "kill",
  "freeze",
  "pause",
  "silence",
  "refuse",
  "takeover",
  "swallow",
  "database",
  "outage",
  "blackout",
];
/** Two calls of one client can count at once: the second one is told so. */
const USUAL = new Set(["E3704"]);

/** Whatever is no success is explained by a fault of the process that ran it, or of the database, at that time. */
function unexplained({ calls, record, lines }: Found, { faults, replicas, afterMs }: World): string[] {
  const pids = new Map(lines.map(({ callId, pid }) => [callId, pid]));
  return [...calls.values()].flatMap((call) => {
    const code = call.answer?.error?.code ?? call.phase;
    const isUsual = call.status === "success" || (call.tool_id === "count" && USUAL.has(code));
    if (isUsual) return [];
    const { from, to } = record.get(call.call_id) ?? { from: 0, to: 0 };
    const pid = pids.get(call.call_id);
    const place = replicas.find((replica) => pid !== undefined && replica.pids.has(pid));
    const isExplained = faults.some(
      (fault) =>
        ENDING.includes(fault.name) &&
        (place === undefined || fault.port === undefined || fault.port === place.port) &&
        fault.from <= to &&
        fault.to + afterMs >= from,
    );
    return isExplained ? [] : [`unexplained: ${call.tool_id} ${call.call_id} is ${code}`];
  });
}

/** A run whose call was taken over completes nothing. */
function fencedInVain(calls: ReadonlyMap<string, Row>, { faults }: World): string[] {
  const taken = faults.flatMap((fault) => fault.taken ?? []);
  const done = taken.filter((callId) => calls.get(callId)?.status === "success");
  return done.map((callId) => `fenced: ${callId} was taken over and completed by the run before`);
}

/** A note of a call is there exactly when it succeeded; an order may have had a call before that did not begin. */
function notedWrongly(calls: ReadonlyMap<string, Row>, { replicas }: World): string[] {
  const notes = [...calls.values()].filter(({ tool_id, phase }) => tool_id === "note" && phase === "closed");
  return notes.flatMap(({ call_id, parameters: { key }, status }) => {
    const files = replicas
      .map(({ folder }) => join(folder, "notes", `${key}.txt`))
      .filter((file) => existsSync(file));
    const places = files.filter((file) => readFileSync(file, "utf8") === call_id).length;
    if (places === (status === "success" ? 1 : 0)) return [];
    return [`noted: ${key} is ${status} and its note in ${places} folders`];
  });
}

/** A callback may come twice; it says what is on record, and comes where there is an end to tell of. */
function calledBackWrongly(calls: ReadonlyMap<string, Row>, { told, callbacks }: World): string[] {
  return told.flatMap(({ order: { key, isAsync }, accepted }) => {
    const bodies = [...new Set(callbacks.get(key)?.map(({ body }) => body))];
    if (bodies.length > 1) return [`callback: ${key} was told ${bodies.length} different ends`];
    const call = accepted === undefined || !isAsync ? undefined : calls.get(accepted);
    const status = bodies[0] === undefined ? undefined : JSON.parse(bodies[0]).status;
    const due = call?.phase === "closed" ? call.status : undefined;
    return call === undefined || status === due
      ? []
      : [`callback: ${key} is ${due ?? call.phase} and was told as ${status}`];
  });
}

/** Counters stand exactly where the successful calls put them. */
async function miscounted(client: pg.Client, calls: ReadonlyMap<string, Row>): Promise<string[]> {
  const counted = [...calls.values()].filter(
    ({ tool_id, status }) => tool_id === "count" && status === "success",
  );
  const due = Map.groupBy(counted, ({ parameters }) => parameters.counter);
  const { rows } = await client.query<{ key: string; value: string }>(COUNTERS);
  const values = new Map(rows.map(({ key, value }) => [key, Number(value)]));
  return [...due].flatMap(([counter = "", successes]) => {
    const value = values.get(counter);
    return value === successes.length
      ? []
      : [`miscounted: ${counter} is ${value} after ${successes.length} successes`];
  });
}

const COUNTERS = `SELECT DISTINCT ON (key) key, value FROM state JOIN state_scopes USING (scope_id)
  WHERE tool_id = 'count' ORDER BY key, state.version DESC`;
