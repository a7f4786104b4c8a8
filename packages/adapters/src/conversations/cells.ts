import type { SQLOutputValue } from "node:sqlite";
import type { BatchResult, ConversationRecord, JournaledCall, Turn } from "@sallyport/loop";

type CallPart = Pick<JournaledCall, "id" | "name">;
type SealedPart = Required<Pick<JournaledCall, "arguments" | "callId">>;

/** A row as the driver gives it. */
export type Row = Record<string, SQLOutputValue>;

/** A text as it is kept: JSON escapes halves of characters, which UTF-8 cannot hold, and NUL. */
export function textCell(text: string): string {
  return JSON.stringify(text);
}

/** The text of a cell that `textCell` made. */
export function readText(cell: SQLOutputValue | undefined): string {
  return String(JSON.parse(String(cell)));
}

/** A turn as it was given. */
export function readTurn({ turn }: Row): Turn {
  return JSON.parse(String(turn));
}

/** A result as it was given. */
export function readResult(cell: SQLOutputValue | undefined): BatchResult {
  return JSON.parse(String(cell));
}

/** What is known of a call when it begins. */
export function callPart({ id, name }: CallPart): string {
  return JSON.stringify({ id, name });
}

/** What `callPart` kept. */
export function readCallPart(cell: SQLOutputValue | undefined): CallPart {
  return JSON.parse(String(cell));
}

/** What a call gets when its batch is sealed. */
export function sealedPart({ arguments: final, callId }: SealedPart): string {
  return JSON.stringify({ arguments: final, callId });
}

/** What `sealedPart` kept. */
export function readSealedPart(cell: SQLOutputValue | undefined): SealedPart {
  return JSON.parse(String(cell));
}

/** The record of a row of `conversations`. */
export function readRecord(row: Row): ConversationRecord {
  return {
    conversationId: readText(row.conversation_id),
    model: readText(row.model),
    cwd: readText(row.cwd),
    title: readText(row.title),
    createdAt: Number(row.created_at),
    updatedAt: Number(row.updated_at),
  };
}
