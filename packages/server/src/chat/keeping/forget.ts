import type { OutputSize } from "@sallyport/adapters/spill";
import type { Kept } from "./kept-in.ts";

/** A conversation that is gone, and how much output went with it. */
export interface Forgotten {
  conversationId: string;
  output: OutputSize;
  /** Why some of its output is still there. It goes with what belongs to no conversation, a day later. */
  problem?: unknown;
}

/**
 * Removes conversations with their output; those with an open batch stay unless `openToo`. The conversations go first,
 * together: a process that is killed after that leaves files nobody asks for, and never a history without its files.
 */
export async function forget(
  { conversations, output }: Kept,
  conversationIds: readonly string[],
  which: { openToo?: boolean } = {},
): Promise<Forgotten[]> {
  const forgotten: Forgotten[] = [];
  for (const conversationId of await conversations.keeping.remove(conversationIds, which)) {
    try {
      forgotten.push({ conversationId, output: await output.remove(conversationId) });
    } catch (problem) {
      forgotten.push({ conversationId, output: { files: 0, bytes: 0 }, problem });
    }
  }
  return forgotten;
}

/** How much output that was together. */
export function outputOf(forgotten: readonly Pick<Forgotten, "output">[]): OutputSize {
  const files = forgotten.reduce((sum, { output }) => sum + output.files, 0);
  return { files, bytes: forgotten.reduce((sum, { output }) => sum + output.bytes, 0) };
}
