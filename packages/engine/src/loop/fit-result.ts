import type { CallRoom } from "./call-room.ts";
import type { ResultText } from "./result-text.ts";
import type { Spill } from "./spill.ts";
import { headAndTail, TRUNCATION_MARKER, truncateOutput } from "./truncate.ts";

interface Fitting {
  room: CallRoom;
  conversationId?: string;
  callId?: string;
  spill?: Spill | undefined;
}

const LEAST_BYTES = 40;
const NO_ROOM = {
  done: "Done; no room left for the result",
  failed: "Failed; no room left to say why",
} as const;

/**
 * A result as long as the model has room for (FR-OUT-04). One that is longer is kept whole beside the conversation where
 * that is possible, and its head and tail are shown.
 */
export async function fitResult(told: ResultText, fitting: Fitting): Promise<string> {
  const { content } = told;
  const { room, spill, conversationId, callId } = fitting;
  const max = Math.min(room.maxOutputBytes, room.availableBytes);
  if (!room.allowTruncation || told.whole || Buffer.byteLength(content) <= max) return content;
  // Nothing at all would be taken for success with nothing to say.
  if (max < LEAST_BYTES) return told.isError ? NO_ROOM.failed : NO_ROOM.done;
  if (!spill || conversationId === undefined || callId === undefined) return truncateOutput(content, max);
  const name = await spill.keep({ conversationId, callId, text: content }).catch(() => undefined);
  if (name === undefined) return truncateOutput(content, max);
  return headAndTail(
    content,
    max,
    (omitted) => `${TRUNCATION_MARKER} ${omitted} bytes left out here. ${spill.hint(name)}\n\n`,
  );
}
