import { existsSync, readFileSync } from "node:fs";
import { openSqliteStore } from "@sallyport/adapters/sqlite";
import { verifyChain } from "@sallyport/engine";
import type { CallRecord, Store } from "@sallyport/engine/ports";
import type { Life } from "./life.ts";
import type { Order, Report } from "./protocol.ts";

type Answered = Extract<Report, { report: "answered" }>;

/** What the harness knows from what the victims said: the truth the store is compared with. */
export class Ledger {
  readonly answered = new Map<string, Answered>();
  /** Orders that were acknowledged and run later, with their call ids. */
  readonly accepted = new Map<string, string>();
  readonly #sent = new Map<string, Order>();
  unknown = 0;
  undone = 0;

  take(life: Life): void {
    for (const report of life.reports) {
      if (report.report === "sent") this.#sent.set(report.order.key, report.order);
      else if (report.report === "answered") this.#answer(report);
      else if (report.report === "accepted") this.#accept(report);
      else {
        this.unknown = report.unknown;
        this.undone += report.undone;
      }
    }
  }

  /** Orders that were sent and never answered. */
  unanswered(): Order[] {
    return [...this.#sent.values()].filter(({ key }) => !this.answered.has(key) && !this.accepted.has(key));
  }

  get hasSuccess(): boolean {
    return [...this.answered.values()].some(({ status }) => status === "success");
  }

  get lastNumber(): number {
    return Math.max(0, ...[...this.#sent.keys()].map((key) => Number(key.slice(1))));
  }

  #accept({ order, callId }: Extract<Report, { report: "accepted" }>): void {
    if (callId !== "") this.accepted.set(order.key, callId);
  }

  #answer(report: Answered): void {
    const before = this.answered.get(report.order.key);
    if (before && JSON.stringify(before.result) !== JSON.stringify(report.result)) {
      throw new Error(`${report.order.key} was answered twice, differently`);
    }
    this.answered.set(report.order.key, report);
  }
}

interface Witnessed {
  key: string;
  callId: string;
}

/** Every way in which the store and the world disagree with what was promised; none is the goal. */
export async function breaches(
  files: { folder: string; witness: string },
  ledger: Ledger,
): Promise<string[]> {
  const store = await openSqliteStore({ folder: files.folder });
  try {
    const records = await allCalls(store);
    const witnessed = readWitness(files.witness);
    return [
      ...lostOutcomes(records, ledger),
      ...lostAcceptances(records, ledger),
      ...effectsWithoutRecord(records, witnessed),
      ...doneTwice(witnessed),
      ...outcomesWithoutEffect(records, witnessed),
      ...leftOfNothing(records),
      ...(await misspent(store, { records, witnessed })),
      ...(await miscounted(store, records)),
      ...(await brokenChain(store)),
    ];
  } finally {
    await store.close();
  }
}

async function allCalls(store: Store): Promise<Map<string, CallRecord>> {
  const all = new Map<string, CallRecord>();
  let page: CallRecord[] = [];
  do {
    const last = page.at(-1);
    const before = last && { at: last.startedAt, id: last.callId };
    page = await store.calls.list({ limit: 1_000, ...(before && { before }) });
    for (const record of page) all.set(record.callId, record);
  } while (page.length === 1_000);
  return all;
}

function readWitness(file: string): Witnessed[] {
  if (!existsSync(file)) return [];
  return readFileSync(file, "utf8")
    .trim()
    .split("\n")
    .filter(Boolean)
    .map((line) => JSON.parse(line) as Witnessed);
}

function lostOutcomes(records: Map<string, CallRecord>, { answered }: Ledger): string[] {
  return [...answered.values()].flatMap(({ order, callId, status, result }) => {
    if (status !== "success") return [];
    const answer = records.get(callId)?.closing?.answer;
    const same = answer?.status === "success" && JSON.stringify(answer.result) === JSON.stringify(result);
    return same ? [] : [`lost: ${order.key} was acknowledged and is not on record as it was (${callId})`];
  });
}

function lostAcceptances(records: Map<string, CallRecord>, { accepted }: Ledger): string[] {
  return [...accepted]
    .filter(([, callId]) => !records.has(callId))
    .map(([key, callId]) => `lost: ${key} was accepted as ${callId} and is not on record`);
}

/** Of an accepted call that is still to be done, once everything had the time to be. */
export async function unfinished({ folder }: { folder: string }): Promise<string[]> {
  const store = await openSqliteStore({ folder });
  try {
    const open = [...(await allCalls(store)).values()].filter(
      ({ tool, phase }) => tool === "later" && phase !== "closed" && phase !== "unknown",
    );
    return open.map(({ callId, phase }) => `unfinished: ${callId} is ${phase}`);
  } finally {
    await store.close();
  }
}

function effectsWithoutRecord(records: Map<string, CallRecord>, witnessed: Witnessed[]): string[] {
  return witnessed
    .filter(({ callId }) => !records.has(callId))
    .map(({ key }) => `unrecorded: ${key} took effect`);
}

function doneTwice(witnessed: Witnessed[]): string[] {
  const keys = witnessed.map(({ key }) => key);
  return keys.filter((key, index) => keys.indexOf(key) !== index).map((key) => `twice: ${key}`);
}

function outcomesWithoutEffect(records: Map<string, CallRecord>, witnessed: Witnessed[]): string[] {
  const effects = new Set(witnessed.map(({ callId }) => callId));
  const paid = [...records.values()].filter(
    ({ tool, closing }) => tool !== "count" && tool !== "look" && closing?.status === "success",
  );
  return paid
    .filter(({ callId }) => !effects.has(callId))
    .map(({ callId }) => `hollow: ${callId} succeeded without effect`);
}

/** A tool without side effects has no intent, so a crash leaves nothing of it. */
function leftOfNothing(records: Map<string, CallRecord>): string[] {
  const open = [...records.values()].filter(({ tool, phase }) => tool === "look" && phase !== "closed");
  return open.map(({ callId }) => `left behind: ${callId} changes nothing and is open`);
}

/** After every death an approval is either unspent, and nothing ran by it, or its call has a verdict. */
async function misspent(
  store: Store,
  { records, witnessed }: { records: Map<string, CallRecord>; witnessed: Witnessed[] },
): Promise<string[]> {
  const effects = new Set(witnessed.map(({ callId }) => callId));
  const wrong: string[] = [];
  for (const { callId } of [...records.values()].filter(({ tool }) => tool === "transfer")) {
    const state = (await store.approvals.ofCall(callId))?.standing.state;
    const phase = records.get(callId)?.phase;
    if (state === "consumed" ? phase === "waiting" : phase !== "waiting") {
      wrong.push(`misspent: ${callId} is ${String(phase)} and its approval ${String(state)}`);
    }
    if (state !== "consumed" && effects.has(callId)) wrong.push(`unapproved: ${callId} took effect`);
  }
  return wrong;
}

/** Counters must stand exactly where the successful calls put them. */
async function miscounted(store: Store, records: Map<string, CallRecord>): Promise<string[]> {
  const expected = new Map<string, number>();
  for (const { tool, closing, input } of records.values()) {
    if (tool !== "count" || closing?.status !== "success") continue;
    const { lane } = JSON.parse(input) as { lane: string };
    expected.set(lane, (expected.get(lane) ?? 0) + 1);
  }
  const snapshot = await store.state.open({ tenant: "acme", tool: "count" });
  const wrong: string[] = [];
  for (const [lane, calls] of expected) {
    const value = (await store.state.get(snapshot, lane))?.value;
    if (value !== calls)
      wrong.push(`miscounted: ${lane} is ${String(value)} after ${calls} successful calls`);
  }
  return wrong;
}

async function brokenChain(store: Store): Promise<string[]> {
  const found: string[] = [];
  for (const tenant of await store.audit.tenants()) {
    const { findings } = await verifyChain(store.audit, tenant);
    found.push(...findings.map(({ message }) => `chain of ${tenant}: ${message}`));
  }
  return found;
}
