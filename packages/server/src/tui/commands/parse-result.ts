import { cleanText } from "../state/clean.ts";

/** A result the person gives for a pending call (FR-TUI-04). `id` is the call's own, as the conversation knows it. */
export type GivenResult = { id: string; content: string; isError: boolean } | { problem: string };

/** Reads what follows `/tool`. A call may be named by its id as shown, or by its number in the list. */
export function parseResult(rest: string, pending: readonly { id: string }[]): GivenResult {
  if (pending.length === 0) return { problem: "No call waits for a result." };
  const error = /^error\s+(\S+)\s+(.+)$/s.exec(rest);
  const [, named, content] = error ?? /^(\S+)\s+(.+)$/s.exec(rest) ?? [];
  if (named === undefined || content === undefined) {
    return { problem: "Enter /tool <id> <result>, or /tool error <id> <message>." };
  }
  const found = pending.find(({ id }) => cleanText(id) === named) ?? pending[numberOf(named) - 1];
  if (found === undefined) return { problem: `No pending call has the id ${named}.` };
  return { id: found.id, content, isError: error !== null };
}

function numberOf(text: string): number {
  return /^#?[1-9]\d?$/.test(text) ? Number(text.replace("#", "")) : 0;
}
