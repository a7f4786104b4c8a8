import type { LoopParts, ModelAnswer, SealedCall } from "./context.ts";
import type { JournaledCall, OpenBatch, StreamEntry, Turn } from "./conversations-port.ts";
import { MESSAGES } from "./settings.ts";

const TITLE_CHARS = 80;

type Parts = Pick<LoopParts, "conversations" | "clock" | "ids" | "model">;

/** The history of one conversation: what is on disk, known here too, so that it is not read anew for every answer. */
export class ConversationLog {
  readonly id: string;
  readonly #parts: Parts;
  #turns: Turn[];
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
    const { conversations, clock, model } = this.#parts;
    const at = clock.now();
    if (this.#unkept) {
      const made = { conversationId: this.id, model, ...this.#unkept, createdAt: at, updatedAt: at };
      await conversations.create({ ...made, title: titleOf(text) });
      this.#unkept = undefined;
    } else await conversations.update(this.id, { at });
    const said: Turn = { kind: "user", text, at };
    await conversations.append(this.id, [said]);
    this.#turns.push(said);
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
  async seal(batchId: string, answer: Pick<ModelAnswer, "turns" | "calls">): Promise<SealedCall[]> {
    const { conversations, clock, ids } = this.#parts;
    const at = clock.now();
    const calls = answer.calls.map((call) => ({ ...call, callId: ids.next() }));
    const uses = calls.map(({ id, name, arguments: given, meta }): Turn => {
      return { kind: "tool_use", id, name, arguments: given, at, ...(meta !== undefined && { meta }) };
    });
    const turns = [...answer.turns, ...uses];
    const plain = calls.map(({ index, arguments: given, callId }) => ({ index, arguments: given, callId }));
    if (await conversations.journal.seal(batchId, { turns, calls: plain })) this.#turns.push(...turns);
    return calls;
  }

  /** An answer that was still coming in: as much of it as there is joins the history, so that its calls have a place. */
  async sealInterrupted(batch: OpenBatch): Promise<OpenBatch> {
    if (batch.phase === "sealed") return batch;
    const calls = await this.seal(batch.batchId, { turns: wordsIn(batch), calls: batch.calls });
    return { ...batch, phase: "sealed", calls };
  }

  /** Forgets the batch; these turns are what remains of it. */
  async close(batchId: string, turns: readonly Turn[]): Promise<void> {
    if (await this.#parts.conversations.journal.close(batchId, [...turns])) this.#turns.push(...turns);
  }

  /** Results follow their calls in call order, whatever order they came in (FR-RES-01a); `missing` where there is none. */
  async closeWith(
    batchId: string,
    calls: readonly Pick<JournaledCall, "id" | "name" | "result">[],
    missing: string = MESSAGES.missingResult,
  ): Promise<void> {
    const otherwise = { isError: true, content: missing, at: this.#parts.clock.now() };
    const turns = calls.map(({ id, name, result = otherwise }): Turn => {
      return { kind: "tool_result", id, name, ...result };
    });
    await this.close(batchId, turns);
  }

  /** The batch that nobody has closed; undefined when there is none. */
  async openOne(): Promise<OpenBatch | undefined> {
    return this.#unkept ? undefined : await this.#parts.conversations.journal.openOf(this.id);
  }

  /** Reads again what is on disk: after trouble with the store nobody knows how far it came. */
  async reread(): Promise<void> {
    const { conversations } = this.#parts;
    if (this.#unkept && !(await conversations.get(this.id))) return;
    this.#unkept = undefined;
    this.#turns = await conversations.turns(this.id);
  }
}

/** What the model had said when an answer broke off, as a turn. */
export function wordsIn({ text, openedAt: at }: OpenBatch): Turn[] {
  return text === "" ? [] : [{ kind: "assistant", text, at }];
}

function titleOf(text: string): string {
  const line = text.trim().split("\n", 1)[0] ?? "";
  return line.length > TITLE_CHARS ? `${line.slice(0, TITLE_CHARS - 1)}…` : line;
}
