import type { OutputSize } from "@sallyport/adapters/spill";
import type { ConversationOutline } from "@sallyport/loop";
import type { Forgotten, Kept } from "../../chat/keeping/index.ts";

/** What was removed. */
export interface Removal {
  gone: (Forgotten & { messages: number })[];
  /** Output that belonged to no conversation any more. */
  nobodys: OutputSize;
  /** What the file of conversations gave back to the disk. */
  compactedBytes: number;
  /** What could not be done besides; the conversations are gone all the same. */
  problems: unknown[];
}

/** Nothing was removed. */
export const NO_REMOVAL: Removal = {
  gone: [],
  nobodys: { files: 0, bytes: 0 },
  compactedBytes: 0,
  problems: [],
};

interface Gone {
  forgotten: readonly Forgotten[];
  outlines: readonly ConversationOutline[];
}

/** Gives the room back, and says what went. */
export async function settled({ conversations }: Kept, { forgotten, outlines }: Gone): Promise<Removal> {
  const turns = new Map(outlines.map((one) => [one.conversationId, one.turns]));
  const gone = forgotten.map((one) => ({ ...one, messages: turns.get(one.conversationId) ?? 0 }));
  if (gone.length === 0) return NO_REMOVAL;
  // To give room back needs room, and a full disk is when people delete.
  const compacted = await tried(() => conversations.keeping.compact(), 0);
  return { ...NO_REMOVAL, gone, compactedBytes: compacted.value, problems: compacted.problems };
}

/** Does something that must not hide what was done before it. */
export async function tried<Value>(
  work: () => Promise<Value>,
  otherwise: Value,
): Promise<{ value: Value; problems: unknown[] }> {
  try {
    return { value: await work(), problems: [] };
  } catch (error) {
    return { value: otherwise, problems: [error] };
  }
}
