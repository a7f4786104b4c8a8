import type { StatementSync } from "node:sqlite";
import type { BatchJournal, BatchResult, JournaledCall, OpenBatch, StreamEntry, Turn } from "@sallyport/loop";
import {
  callPart,
  type Row,
  readCallPart,
  readResult,
  readSealedPart,
  readText,
  sealedPart,
  textCell,
} from "./cells.ts";
import type { Connection } from "./connection.ts";
import type { History } from "./history.ts";

/** Each step finds its batch by id and phase itself: another process may have sealed or closed it. */
const SQL = {
  open: `INSERT INTO batches (conversation, batch_id, model, phase, opened_at)
    SELECT position, ?2, ?3, 'streaming', ?4 FROM conversations WHERE conversation_id = ?1 ON CONFLICT DO NOTHING`,
  isElsewhere: `SELECT 1 FROM batches WHERE batch_id = ?1
    AND NOT EXISTS (SELECT 1 FROM batches WHERE conversation = ?2)`,
  find: "SELECT conversation, phase FROM batches WHERE batch_id = ?",
  recordText: `INSERT INTO batch_parts (conversation, part, number, position, value)
    SELECT conversation, 'text', 0, (SELECT coalesce(max(p.position), 0) + 1 FROM batch_parts AS p
      WHERE p.conversation = b.conversation AND p.part = 'text' AND p.number = 0), ?2
    FROM batches AS b WHERE batch_id = ?1 AND phase = 'streaming'`,
  recordArguments: `INSERT INTO batch_parts (conversation, part, number, position, value)
    SELECT c.conversation, 'arguments', c.number, (SELECT coalesce(max(p.position), 0) + 1 FROM batch_parts AS p
      WHERE p.conversation = c.conversation AND p.part = 'arguments' AND p.number = c.number), ?3
    FROM batches AS b JOIN batch_parts AS c ON c.conversation = b.conversation AND c.part = 'call' AND c.number = ?2
    WHERE b.batch_id = ?1 AND b.phase = 'streaming'`,
  recordCall: `INSERT INTO batch_parts (conversation, part, number, position, value)
    SELECT conversation, 'call', ?2, 0, ?3 FROM batches AS b WHERE batch_id = ?1 AND phase = 'streaming'
      AND ?2 = (SELECT coalesce(max(p.number) + 1, 0) FROM batch_parts AS p
        WHERE p.conversation = b.conversation AND p.part = 'call')`,
  markSealed: "UPDATE batches SET phase = 'sealed' WHERE conversation = ?",
  sealCall: `INSERT INTO batch_parts (conversation, part, number, position, value)
    SELECT conversation, 'sealed', number, 0, ?3 FROM batch_parts
    WHERE conversation = ?1 AND part = 'call' AND number = ?2`,
  countCalls: "SELECT count(*) AS calls FROM batch_parts WHERE conversation = ? AND part = 'call'",
  result: `INSERT INTO batch_parts (conversation, part, number, position, value)
    SELECT c.conversation, 'result', c.number, 0, ?3
    FROM batches AS b JOIN batch_parts AS c ON c.conversation = b.conversation AND c.part = 'sealed' AND c.number = ?2
    WHERE b.batch_id = ?1 ON CONFLICT DO NOTHING`,
  dropBatch: "DELETE FROM batches WHERE conversation = ?",
  dropParts: "DELETE FROM batch_parts WHERE conversation = ?",
  openOf: `SELECT conversation, batch_id, model, phase, opened_at FROM batches
    WHERE conversation = (SELECT position FROM conversations WHERE conversation_id = ?)`,
  parts: `SELECT part, number, value FROM batch_parts WHERE conversation = ?
    ORDER BY conversation, part, number, position`,
} as const;

/** Every statement of the journal, prepared. */
type BatchStatements = Record<keyof typeof SQL, StatementSync>;

/** Prepares what the journal of a connection needs. */
function prepareBatchStatements(connection: Connection): BatchStatements {
  const prepared = Object.entries(SQL).map(([name, sql]) => [name, connection.prepare(sql)]);
  return Object.fromEntries(prepared);
}

type Opening = Parameters<BatchJournal["open"]>[0];
type Sealing = Parameters<BatchJournal["seal"]>[1];

/**
 * Open batches. A batch is `streaming` from `open` until `seal`, then `sealed`; `close` ends it from either. Opening and
 * what streams in is not synced: a power cut before the seal leaves a conversation in which the model has not answered.
 */
export class SqliteJournal implements BatchJournal {
  readonly #connection: Connection;
  readonly #history: History;
  readonly #sql: BatchStatements;

  constructor(connection: Connection, history: History) {
    this.#connection = connection;
    this.#history = history;
    this.#sql = prepareBatchStatements(connection);
  }

  async open({ batchId, conversationId, model, at }: Opening): Promise<boolean> {
    return this.#connection.note(() => {
      const [conversation, batch] = [textCell(conversationId), textCell(batchId)];
      if (this.#sql.open.run(conversation, batch, textCell(model), at).changes === 1) return true;
      if (!this.#sql.isElsewhere.get(batch, this.#history.require(conversationId))) return false;
      throw new RangeError(`There is a batch ${batchId} already.`);
    });
  }

  async record(batchId: string, entry: StreamEntry): Promise<void> {
    const changes = await this.#connection.note(() => this.#take(textCell(batchId), entry));
    if (changes === 0) throw new RangeError(`The batch ${batchId} cannot take this entry of the stream.`);
  }

  #take(batchId: string, entry: StreamEntry): number | bigint {
    switch (entry.kind) {
      case "text":
        return this.#sql.recordText.run(batchId, textCell(entry.delta)).changes;
      case "arguments":
        return this.#sql.recordArguments.run(batchId, entry.index, textCell(entry.delta)).changes;
      case "call":
        return this.#sql.recordCall.run(batchId, entry.index, callPart(entry)).changes;
    }
  }

  async seal(batchId: string, { turns, calls }: Sealing): Promise<boolean> {
    return this.#connection.keepAll(() => {
      const batch = this.#find(batchId);
      if (batch?.phase !== "streaming") return false;
      this.#history.append(batch.conversation, turns);
      this.#sql.markSealed.run(batch.conversation);
      if (this.#sealCalls(batch.conversation, calls)) return true;
      throw new RangeError(`The batch ${batchId} is sealed with other calls than it has.`);
    });
  }

  #sealCalls(conversation: number, calls: Sealing["calls"]): boolean {
    if (new Set(calls.map(({ index }) => index)).size !== calls.length) return false;
    for (const call of calls) {
      const { changes } = this.#sql.sealCall.run(conversation, call.index, sealedPart(call));
      if (changes === 0) return false;
    }
    return this.#sql.countCalls.get(conversation)?.calls === calls.length;
  }

  async result(batchId: string, index: number, result: BatchResult): Promise<boolean> {
    const run = () => this.#sql.result.run(textCell(batchId), index, JSON.stringify(result));
    return (await this.#connection.keep(run)).changes === 1;
  }

  async close(batchId: string, turns: Turn[]): Promise<boolean> {
    return this.#connection.keepAll(() => {
      const batch = this.#find(batchId);
      if (!batch) return false;
      this.#history.append(batch.conversation, turns);
      this.#sql.dropParts.run(batch.conversation);
      this.#sql.dropBatch.run(batch.conversation);
      return true;
    });
  }

  async openOf(conversationId: string): Promise<OpenBatch | undefined> {
    return this.#connection.readAll(() => {
      const batch = this.#sql.openOf.get(textCell(conversationId));
      if (!batch) return undefined;
      return readOpenBatch(conversationId, batch, this.#sql.parts.all(Number(batch.conversation)));
    });
  }

  #find(batchId: string): { conversation: number; phase: string } | undefined {
    const row = this.#sql.find.get(textCell(batchId));
    return row && { conversation: Number(row.conversation), phase: String(row.phase) };
  }
}

/** Puts an open batch together from its row and its parts; what was sealed goes before what was streamed. */
function readOpenBatch(conversationId: string, batch: Row, parts: Row[]): OpenBatch {
  const of = (part: string) => parts.filter((row) => row.part === part);
  const streamed = joinDeltas(of("arguments"));
  const sealed = new Map(of("sealed").map(({ number = null, value }) => [number, readSealedPart(value)]));
  const results = new Map(of("result").map(({ number = null, value }) => [number, readResult(value)]));
  const calls = of("call").map(({ number = null, value }): JournaledCall => {
    const result = results.get(number);
    const begun = { index: Number(number), ...readCallPart(value), arguments: streamed.get(number) ?? "" };
    return { ...begun, ...sealed.get(number), ...(result && { result }) };
  });
  return {
    batchId: readText(batch.batch_id),
    conversationId,
    model: readText(batch.model),
    phase: batch.phase === "sealed" ? "sealed" : "streaming",
    openedAt: Number(batch.opened_at),
    text: of("text").reduce((text, { value }) => text + readText(value), ""),
    calls,
  };
}

/** The arguments as far as they came, by the number of the call. */
function joinDeltas(deltas: Row[]): Map<Row[string], string> {
  const joined = new Map<Row[string], string>();
  for (const { number = null, value } of deltas) {
    joined.set(number, (joined.get(number) ?? "") + readText(value));
  }
  return joined;
}
