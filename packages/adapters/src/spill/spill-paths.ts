import { createHash } from "node:crypto";
import { join } from "node:path";

/** How an output's file is called. */
export const OUTPUT_NAME = /^[0-9a-f]{16}$/;
/** How it is called while it is being written. */
export const UNFINISHED_NAME = /^[0-9a-f]{16}\.new$/;
/** How the folder of a conversation is called. */
export const HOLDER_NAME = /^[0-9a-f]{64}$/;

/** Ids of conversations and calls are others' to choose; a file's name is not. */
function digest(id: string): string {
  return createHash("sha256").update(id).digest("hex");
}

/** The name of the folder a conversation's output is kept in. */
export function holderOf(conversationId: string): string {
  return digest(conversationId);
}

/** The name of a call's output. */
export function outputNameOf(callId: string): string {
  return digest(callId).slice(0, 16);
}

/** Where a conversation's output is kept. */
export function folderOf(folder: string, conversationId: string): string {
  return join(folder, holderOf(conversationId));
}
