import type { BatchJournal, BatchResult, OpenBatch, StreamEntry, Turn } from "@sallyport/engine";
import { type BatchStatements, prepareBatchStatements } from "./batch-statements.ts";
import { callPart, sealedPart, textCell } from "./cells.ts";
import type { Connection } from "./connection.ts";
import type { History } from "./history.ts";
import { readOpenBatch } from "./open-batch.ts";

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
