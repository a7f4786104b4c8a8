import type { SealedCall } from "./batch.ts";
import type { LoopParts } from "./context.ts";
import type { BatchResult, OpenBatch, StreamEntry, ToolUseTurn, Turn } from "./conversations-port.ts";
import type { AskedCall, ModelAnswer } from "./model-answer.ts";
import { MESSAGES } from "./settings.ts";

const TITLE_CHARS = 80;

type Parts = Pick<LoopParts, "conversations" | "clock" | "ids" | "model">;

/** The history of one conversation: what is on disk, known here too, so that it is not read anew for every answer. */
export class ConversationLog {
  readonly id: string;
  readonly #parts: Parts;
  readonly #turns: Turn[];
  /** A conversation in which nothing was said is not kept: only where it would be. */
  #unkept: { cwd: string } | undefined;

  private constructor(id: string, parts: Parts, known: { turns: Turn[]; unkept?: { cwd: string } }) {
    this.id = id;
    this.#parts = parts;
    this.#turns = known.turns;
    this.#unkept = known.unkept;
  }

  static begin(parts: Parts, { cwd }: { cwd: string }): ConversationLog {
    return new ConversationLog(parts.ids.next(), parts, { turns: [], unkept: { cwd } });
  }

  /** Undefined when there is none of that id. The model and the folder are those of now. */
  static async reopen(
    id: string,
    parts: Parts,
    { cwd }: { cwd?: string },
  ): Promise<ConversationLog | undefined> {
    const { conversations, clock, model } = parts;
    if (!(await conversations.get(id))) return undefined;
    await conversations.update(id, { model, at: clock.now(), ...(cwd !== undefined && { cwd }) });
    return new ConversationLog(id, parts, { turns: await conversations.turns(id) });
  }

  get turns(): readonly Turn[] {
    return this.#turns;
  }

  /** The person says something. */
  async say(text: string): Promise<void> {
    const { conversations, clock } = this.#parts;
    const at = clock.now();
    if (this.#unkept) await this.#keep(this.#unkept.cwd, { title: titleOf(text), at });
    else await conversations.update(this.id, { at });
    const said: Turn = { kind: "user", text, at };
    await conversations.append(this.id, [said]);
    this.#turns.push(said);
  }

  async #keep(cwd: string, { title, at }: { title: string; at: number }): Promise<void> {
    const { conversations, model } = this.#parts;
    await conversations.create({ conversationId: this.id, model, cwd, title, createdAt: at, updatedAt: at });
    this.#unkept = undefined;
  }

  /** False when a batch is open already. */
  openBatch(batchId: string): Promise<boolean> {
    const { conversations, clock, model } = this.#parts;
    return conversations.journal.open({ batchId, conversationId: this.id, model, at: clock.now() });
  }

  record(batchId: string, entry: StreamEntry): Promise<void> {
    return this.#parts.conversations.journal.record(batchId, entry);
  }

  /** Text and calls join the history, each call with the engine's id for it (FR-RES-01). */
  async seal(batchId: string, { turns, calls }: ModelAnswer): Promise<SealedCall[]> {
    const { conversations, clock, ids } = this.#parts;
    const at = clock.now();
    const sealed = calls.map(({ meta: _meta, ...call }) => ({ ...call, callId: ids.next() }));
    const answered = [...turns, ...calls.map((call) => useOf(call, at))];
    const plain = sealed.map(({ index, arguments: given, callId }) => ({ index, arguments: given, callId }));
    if (await conversations.journal.seal(batchId, { turns: answered, calls: plain }))
      this.#turns.push(...answered);
    return sealed;
  }

  /** An answer that was still coming in: as much of it as there is joins the history, so that its calls have a place. */
  async sealInterrupted(batch: OpenBatch): Promise<OpenBatch> {
    if (batch.phase === "sealed") return batch;
    const { openedAt: at, text } = batch;
    const turns: Turn[] = text === "" ? [] : [{ kind: "assistant", text, at }];
    const sealed = await this.seal(batch.batchId, { turns, text, calls: batch.calls });
    return { ...batch, phase: "sealed", calls: batch.calls.map((call, n) => ({ ...call, ...sealed[n] })) };
  }

  /** Forgets the batch; these turns are what remains of it. */
  async close(batchId: string, turns: readonly Turn[]): Promise<void> {
    if (await this.#parts.conversations.journal.close(batchId, [...turns])) this.#turns.push(...turns);
  }

  /** Results follow their calls in call order, whatever order they came in (FR-RES-01a). */
  async closeWith(
    { batchId, calls }: { batchId: string; calls: readonly { id: string; name: string }[] },
    results: readonly (BatchResult | undefined)[],
  ): Promise<void> {
    const missing = { isError: true, content: MESSAGES.missingResult, at: this.#parts.clock.now() };
    const turns = calls.map(
      ({ id, name }, position): Turn => ({
        kind: "tool_result",
        id,
        name,
        ...(results[position] ?? missing),
      }),
    );
    await this.close(batchId, turns);
  }

  /** The same with the results the batch has; `otherwise` for calls that have none. */
  async closeWithKnown(batch: OpenBatch, otherwise?: BatchResult): Promise<void> {
    await this.closeWith(
      batch,
      batch.calls.map(({ result }) => result ?? otherwise),
    );
  }

  /** The batch that nobody has closed; undefined when there is none. */
  async openOne(): Promise<OpenBatch | undefined> {
    return this.#unkept ? undefined : await this.#parts.conversations.journal.openOf(this.id);
  }

  /** Reads again what is on disk: after trouble with the store nobody knows how far it came. */
  async reread(): Promise<void> {
    if (this.#unkept && !(await this.#parts.conversations.get(this.id))) return;
    this.#unkept = undefined;
    const turns = await this.#parts.conversations.turns(this.id);
    this.#turns.splice(0, this.#turns.length, ...turns);
  }
}

function useOf({ id, name, arguments: given, meta }: AskedCall, at: number): ToolUseTurn {
  return { kind: "tool_use", id, name, arguments: given, at, ...(meta !== undefined && { meta }) };
}

function titleOf(text: string): string {
  const line = text.trim().split("\n", 1)[0] ?? "";
  return line.length > TITLE_CHARS ? `${line.slice(0, TITLE_CHARS - 1)}…` : line;
}
