import type {
  BatchJournal,
  BatchResult,
  JournaledCall,
  OpenBatch,
  StreamEntry,
  Turn,
} from "../ports/conversations.ts";
import { copyOf, type MemoryHistory } from "./conversations-history.ts";

type Opening = Parameters<BatchJournal["open"]>[0];
type Sealing = Parameters<BatchJournal["seal"]>[1];

/**
 * Open batches, synchronously. A batch is `streaming` from `open` until `seal`, then `sealed`; `close` ends it from
 * either. Only a streaming one takes entries, only a sealed one takes results.
 */
export class MemoryJournal {
  readonly #history: MemoryHistory;
  readonly #batches = new Map<string, OpenBatch>();

  constructor(history: MemoryHistory) {
    this.#history = history;
  }

  open({ batchId, conversationId, model, at }: Opening): boolean {
    this.#history.require(conversationId);
    if (this.#of(conversationId)) return false;
    if (this.#batches.has(batchId)) throw new RangeError(`There is a batch ${batchId} already.`);
    const batch = { batchId, conversationId, model, openedAt: at, text: "", calls: [] };
    this.#batches.set(batchId, { ...batch, phase: "streaming" });
    return true;
  }

  record(batchId: string, entry: StreamEntry): void {
    const batch = this.#batches.get(batchId);
    if (batch?.phase !== "streaming" || !take(batch, entry)) {
      throw new RangeError(`The batch ${batchId} cannot take this entry of the stream.`);
    }
  }

  seal(batchId: string, { turns, calls }: Sealing): boolean {
    const batch = this.#batches.get(batchId);
    if (batch?.phase !== "streaming") return false;
    const sealed = new Map(calls.map((call) => [call.index, call]));
    const isWhole = sealed.size === calls.length && calls.length === batch.calls.length;
    if (!isWhole || batch.calls.some(({ index }) => !sealed.has(index))) {
      throw new RangeError(`The batch ${batchId} is sealed with other calls than it has.`);
    }
    this.#history.append(batch.conversationId, turns);
    const complete = batch.calls.map((call) => ({ ...call, ...sealed.get(call.index) }));
    this.#batches.set(batchId, { ...batch, phase: "sealed", calls: complete });
    return true;
  }

  result(batchId: string, index: number, result: BatchResult): boolean {
    const batch = this.#batches.get(batchId);
    const call = batch?.phase === "sealed" ? batch.calls.find((one) => one.index === index) : undefined;
    if (!call || call.result) return false;
    call.result = copyOf(result);
    return true;
  }

  close(batchId: string, turns: Turn[]): boolean {
    const batch = this.#batches.get(batchId);
    if (!batch) return false;
    this.#history.append(batch.conversationId, turns);
    return this.#batches.delete(batchId);
  }

  openOf(conversationId: string): OpenBatch | undefined {
    const batch = this.#of(conversationId);
    return batch && copyOf(batch);
  }

  has(conversationId: string): boolean {
    return this.#of(conversationId) !== undefined;
  }

  /** The batch goes, and what it held joins no history. */
  forget(conversationId: string): void {
    const batch = this.#of(conversationId);
    if (batch) this.#batches.delete(batch.batchId);
  }

  #of(conversationId: string): OpenBatch | undefined {
    return [...this.#batches.values()].find((batch) => batch.conversationId === conversationId);
  }
}

/** False when the entry does not fit what came before it: a call out of turn, or arguments of a call that is not there. */
function take(batch: OpenBatch, entry: StreamEntry): boolean {
  if (entry.kind === "text") batch.text += entry.delta;
  else if (entry.kind === "call") return begin(batch.calls, entry);
  else return extend(batch.calls[entry.index], entry.delta);
  return true;
}

function begin(calls: JournaledCall[], { index, id, name }: StreamEntry & { kind: "call" }): boolean {
  if (index !== calls.length) return false;
  calls.push({ index, id, name, arguments: "" });
  return true;
}

function extend(call: JournaledCall | undefined, delta: string): boolean {
  if (!call) return false;
  call.arguments += delta;
  return true;
}
