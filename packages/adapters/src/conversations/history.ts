import type { StatementSync } from "node:sqlite";
import type { ConversationRecord, Conversations, Turn } from "@sallyport/loop";
import { readRecord, readTurn, textCell } from "./cells.ts";
import type { Connection } from "./connection.ts";

const COLUMNS = "conversation_id, model, cwd, title, created_at, updated_at";
const CREATE = `INSERT INTO conversations (${COLUMNS}) VALUES (?, ?, ?, ?, ?, ?)
  ON CONFLICT (conversation_id) DO NOTHING`;
const GET = `SELECT ${COLUMNS} FROM conversations WHERE conversation_id = ?`;
const LIST = `SELECT ${COLUMNS} FROM conversations
  WHERE updated_at < ? ORDER BY updated_at DESC, position DESC LIMIT ?`;
const UPDATE = `UPDATE conversations SET model = coalesce(?, model), cwd = coalesce(?, cwd),
  title = coalesce(?, title), updated_at = ? WHERE conversation_id = ?`;
const FIND = "SELECT position FROM conversations WHERE conversation_id = ?";
const TURNS = `SELECT turn FROM turns
  WHERE conversation = (SELECT position FROM conversations WHERE conversation_id = ?) ORDER BY position`;
const APPEND = `INSERT INTO turns (conversation, position, turn)
  VALUES (?1, (SELECT coalesce(max(position), 0) + 1 FROM turns WHERE conversation = ?1), ?2)`;

/** Conversations and their turns, synchronously: whoever calls chooses the transaction. */
export class History {
  readonly #create: StatementSync;
  readonly #get: StatementSync;
  readonly #list: StatementSync;
  readonly #update: StatementSync;
  readonly #find: StatementSync;
  readonly #turns: StatementSync;
  readonly #append: StatementSync;

  constructor(connection: Connection) {
    this.#create = connection.prepare(CREATE);
    this.#get = connection.prepare(GET);
    this.#list = connection.prepare(LIST);
    this.#update = connection.prepare(UPDATE);
    this.#find = connection.prepare(FIND);
    this.#turns = connection.prepare(TURNS);
    this.#append = connection.prepare(APPEND);
  }

  create({ conversationId, model, cwd, title, createdAt, updatedAt }: ConversationRecord): void {
    const texts = [conversationId, model, cwd, title].map(textCell);
    const { changes } = this.#create.run(...texts, createdAt, updatedAt);
    if (changes === 0) throw new RangeError(`There is a conversation ${conversationId} already.`);
  }

  get(conversationId: string): ConversationRecord | undefined {
    const row = this.#get.get(textCell(conversationId));
    return row && readRecord(row);
  }

  /** Of those changed at the same time, the one made last comes first. */
  list({ limit, before = Number.POSITIVE_INFINITY }: { limit: number; before?: number }) {
    return this.#list.all(before, Math.max(0, limit)).map(readRecord);
  }

  update(conversationId: string, change: Parameters<Conversations["update"]>[1]): void {
    const cells = [change.model, change.cwd, change.title].map((text) =>
      text === undefined ? null : textCell(text),
    );
    this.#update.run(...cells, change.at, textCell(conversationId));
  }

  turns(conversationId: string): Turn[] {
    return this.#turns.all(textCell(conversationId)).map(readTurn);
  }

  /** Where the conversation is; throws for an unknown one, whose turns would be lost. */
  require(conversationId: string): number {
    const row = this.#find.get(textCell(conversationId));
    if (row) return Number(row.position);
    throw new RangeError(`There is no conversation ${conversationId}.`);
  }

  /** Adds to the conversation at this position. */
  append(conversation: number, turns: readonly Turn[]): void {
    for (const turn of turns) this.#append.run(conversation, JSON.stringify(turn));
  }
}
