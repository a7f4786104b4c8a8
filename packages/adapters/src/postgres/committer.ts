import type { CommitResult } from "@sallyport/engine/ports";
import { conflictOf, type Refusal } from "../store-rows/writes.ts";
import { type Database, pause } from "./database.ts";
import type { PoolClient } from "./driver.ts";
import type { EncodedUnit } from "./encode-unit.ts";
import { failedBy, fateOf, isLockTimeout, lost, unanswered } from "./failures.ts";
import { decodeJson, encodeJson } from "./text.ts";

/** More in one transaction makes each unit wait longer and saves hardly anything. */
const MAX_BATCH = 256;
const MAX_BATCH_CHARS = 8 * 1024 * 1024;
/** What may wait at all; beyond it a commit is refused, so that memory stays bounded. */
const MAX_WAITING = 16_384;
const MAX_WAITING_CHARS = 256 * 1024 * 1024;
/** How often a unit is tried that meets other transactions. */
const MAX_MEETINGS = 12;
/** A unit whose batch has waited for a row as long as it may waits only so long when it is sent alone. */
const SHORT_WAIT_MS = 100;

/** As `commit_units` gives it: `applied` with the link, or the name of the conflict with its particulars. */
type Outcome = [kind: string, ...particulars: unknown[]];

/** That the connection fails, until something is answered again. */
interface Outage {
  since: number;
  error: unknown;
}

interface Waiting {
  unit: EncodedUnit;
  submittedAt: number;
  /** A connection was lost while the server may have had it. */
  isInDoubt: boolean;
  meetings: number;
  /** Its batch waited for a row and got none. */
  hasWaited: boolean;
  resolve(outcome: Outcome): void;
  reject(error: Error): void;
}

/**
 * Sends units in batches, one at a time, over a connection of its own: one statement, one transaction, one round trip.
 * While a batch is under way, units wait here and go together in the next one. A batch that fails as a whole is sent
 * again unit by unit, so that only the guilty one fails. After a lost connection, units with an id are sent again, on a
 * new connection, for as long as patience lasts; those without one are rejected as unanswered.
 */
export class Committer {
  readonly #database: Database;
  readonly #patienceMs: number;
  readonly #byId = new Map<string, Promise<Outcome>>();
  #waiting: Waiting[] = [];
  #waitingChars = 0;
  #running: Promise<void> | undefined;
  #client: PoolClient | undefined;
  #outage: Outage | undefined;

  constructor(database: Database, patienceMs: number) {
    this.#database = database;
    this.#patienceMs = patienceMs;
  }

  /** A unit that is under way already is not sent a second time. Rejects with E3914. */
  submit(unit: EncodedUnit): Promise<Outcome> {
    const { id } = unit;
    if (id === undefined) return this.#enqueue(unit);
    const underWay = this.#byId.get(id);
    if (underWay) return underWay;
    const answer = this.#enqueue(unit).finally(() => this.#byId.delete(id));
    this.#byId.set(id, answer);
    return answer;
  }

  /** Resolves once nothing waits or is under way, and gives the connection back. */
  async drain(): Promise<void> {
    await this.#running;
    this.#client?.release();
    this.#client = undefined;
  }

  #enqueue(unit: EncodedUnit): Promise<Outcome> {
    const chars = unit.text.length;
    if (this.#waiting.length >= MAX_WAITING || this.#waitingChars + chars > MAX_WAITING_CHARS)
      return Promise.reject(lost("Too many units wait to be written.", "Send less at a time."));
    return new Promise((resolve, reject) => {
      const submittedAt = performance.now();
      this.#waiting.push({
        unit,
        submittedAt,
        isInDoubt: false,
        meetings: 0,
        hasWaited: false,
        resolve,
        reject,
      });
      this.#waitingChars += chars;
      this.#running ??= this.#run();
    });
  }

  async #run(): Promise<void> {
    // After everything else this turn has to do, so that whatever is submitted together goes together.
    await new Promise((resolve) => setImmediate(resolve));
    while (this.#waiting.length > 0) await this.#deliver(this.#nextBatch());
    this.#running = undefined;
    // Whatever comes next finds out by itself how the server is.
    this.#outage = undefined;
  }

  #nextBatch(): Waiting[] {
    let chars = 0;
    const end = this.#waiting.findIndex(({ unit }, index) => {
      chars += unit.text.length;
      return index >= MAX_BATCH || (index > 0 && chars > MAX_BATCH_CHARS);
    });
    const batch = this.#waiting.splice(0, end === -1 ? this.#waiting.length : end);
    for (const { unit } of batch) this.#waitingChars -= unit.text.length;
    return batch;
  }

  /** Answers every unit of the batch, in order. Never rejects. */
  async #deliver(batch: Waiting[]): Promise<void> {
    let left = this.#inTime(batch);
    for (let tries = 0; left.length > 0; tries += 1) {
      const error = await this.#send(left);
      if (!error) {
        this.#outage = undefined;
        return;
      }
      const fate = fateOf(error);
      if (fate === "failed" || fate === "retry") {
        this.#outage = undefined;
        if (left.length > 1) {
          for (const one of left) {
            one.hasWaited = isLockTimeout(error);
            await this.#deliver([one]);
          }
          return;
        }
        const [alone] = left;
        if (!alone || fate === "failed" || alone.meetings >= MAX_MEETINGS) return rejectAll(left, error);
        alone.meetings += 1;
      } else {
        left = fate === "lost" ? withIds(left, error) : left;
        this.#outage = { since: this.#outage?.since ?? performance.now(), error };
      }
      await pause(tries, Math.min(...left.map((one) => this.#deadlineOf(one))));
      left = this.#inTime(left);
    }
  }

  /** An outage is waited for from its begin, or from when the unit came: also while it waits for others here. */
  #deadlineOf({ submittedAt }: Waiting): number {
    return this.#outage
      ? Math.max(submittedAt, this.#outage.since) + this.#patienceMs
      : Number.POSITIVE_INFINITY;
  }

  /** Those that can still wait; the others are rejected. */
  #inTime(batch: Waiting[]): Waiting[] {
    const now = performance.now();
    const isLate = (one: Waiting) => this.#deadlineOf(one) <= now;
    rejectAll(batch.filter(isLate), this.#outage?.error);
    return batch.filter((one) => !isLate(one));
  }

  /** The error when the batch failed; otherwise every unit has been answered. */
  async #send(batch: readonly Waiting[]): Promise<unknown> {
    let client: PoolClient | undefined;
    try {
      client = await this.#connected();
    } catch (error) {
      // Whatever keeps a connection from being made, nothing was sent over it.
      return fateOf(error) === "lost"
        ? Object.assign(new Error(String(error)), { code: "ECONNREFUSED" })
        : error;
    }
    try {
      const { rows } = await client.query<{ outcome: string }>({
        name: "sallyport_commit",
        text: "SELECT outcome::text FROM commit_units($1::jsonb) AS outcome",
        values: [batchText(batch)],
      });
      for (const [index, { resolve }] of batch.entries())
        resolve(decodeJson(String(rows[index]?.outcome)) as Outcome);
      return undefined;
    } catch (error) {
      if (fateOf(error) === "lost" || fateOf(error) === "refused") this.#drop(error);
      return error;
    }
  }

  async #connected(): Promise<PoolClient> {
    if (this.#client) return this.#client;
    const client = await this.#database.connect();
    client.on("error", (error) => {
      if (this.#client === client) this.#drop(error);
    });
    this.#client = client;
    return client;
  }

  #drop(error: unknown): void {
    const client = this.#client;
    this.#client = undefined;
    client?.release(error instanceof Error ? error : true);
  }
}

/** The units that can be sent again; the others are rejected, because the server may have them. */
function withIds(batch: readonly Waiting[], error: unknown): Waiting[] {
  for (const waiting of batch) {
    waiting.isInDoubt = true;
    if (waiting.unit.id === undefined) waiting.reject(unanswered(error));
  }
  return batch.filter(({ unit }) => unit.id !== undefined);
}

function rejectAll(batch: readonly Waiting[], error: unknown): void {
  for (const { reject, isInDoubt } of batch)
    reject(isInDoubt ? unanswered(error) : failedBy(error, "The unit could not be written"));
}

function batchText(batch: readonly Waiting[]): string {
  const locks = {
    calls: named(batch.flatMap(({ unit }) => unit.calls)),
    grants: named(batch.flatMap(({ unit }) => unit.grants)),
  };
  const units = batch.map(({ unit }) => unit.text).join();
  const wait = batch.some(({ hasWaited }) => hasWaited) ? `"waitMs":${SHORT_WAIT_MS},` : "";
  return `{${wait}"locks":${encodeJson(JSON.stringify(locks))},"units":[${units}]}`;
}

/** One row needs no order. */
function named(ids: readonly string[]): string[] | undefined {
  return ids.length > 1 ? [...new Set(ids)] : undefined;
}

/** What the port is told; the call that holds a key is read by whoever asks. */
export function resultOf([kind, ...said]: Outcome): CommitResult | { holder: string } {
  if (kind === "applied") {
    const [strand, sequence, hash] = said;
    if (sequence === undefined) return { ok: true };
    return { ok: true, link: { strand: Number(strand), sequence: Number(sequence), hash: String(hash) } };
  }
  if (kind === "idempotency") return { holder: String(said[0]) };
  return { ok: false, conflict: conflictOf([kind, ...said] as Refusal) };
}
