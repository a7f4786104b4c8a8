import { type FileHandle, open } from "node:fs/promises";
import type { EventSink, OutgoingEvent } from "@sallyport/engine/ports";
import { failure, SallyportError } from "@sallyport/protocol";
import { inTurn } from "./parcels.ts";

const NEWLINE = 0x0a;

/**
 * Appends events to a file as JSON lines (mode 0600). `send` resolves once they are synced to the disk; after a
 * rejection some of them may be there, and sending them again makes duplicates, never gaps. A line that a crash
 * left half written is ended before the next one, so it spoils only itself. Sends are done one after the other. Several
 * processes can append to one file on a local disk: each send is one write.
 */
export function createJsonlSink(path: string): EventSink {
  return { send: inTurn((events) => append(path, events)) };
}

async function append(path: string, events: readonly OutgoingEvent[]): Promise<void> {
  if (events.length === 0) return;
  const file = await open(path, "a+", 0o600);
  try {
    const lines = events.map(({ json }) => `${json}\n`).join("");
    const bytes = Buffer.from((await endsTorn(file)) ? `\n${lines}` : lines);
    // One write: what goes in pieces is mixed with the pieces of another process that appends to the same file.
    const { bytesWritten } = await file.write(bytes);
    if (bytesWritten < bytes.byteLength) throw cutShort(path, bytesWritten);
    await file.datasync();
  } finally {
    await file.close();
  }
}

/** The disk takes no more; the next send says why. */
function cutShort(path: string, bytes: number): SallyportError {
  const message = `${path} took only the first ${bytes} bytes of the events.`;
  const advice = "Free some space on its disk; the events wait in the outbox.";
  return new SallyportError(failure("E3304", { message, advice }));
}

async function endsTorn(file: FileHandle): Promise<boolean> {
  const { size } = await file.stat();
  if (size === 0) return false;
  const { buffer } = await file.read(Buffer.alloc(1), 0, 1, size - 1);
  return buffer[0] !== NEWLINE;
}
