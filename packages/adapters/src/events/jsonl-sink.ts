import { type FileHandle, open } from "node:fs/promises";
import type { EventSink, OutgoingEvent } from "@sallyport/engine/ports";

const NEWLINE = 0x0a;

/**
 * Appends events to a file as JSON lines (mode 0600). `send` resolves once they are synced to the disk; after a
 * rejection some of them may be there, and sending them again makes duplicates, never gaps. A line that a crash
 * left half written is ended before the next one, so it spoils only itself. Sends are done one after the other.
 */
export function createJsonlSink(path: string): EventSink {
  let previous: Promise<void> = Promise.resolve();
  return {
    send(events) {
      const turn = previous.then(() => append(path, events));
      previous = turn.catch(() => undefined);
      return turn;
    },
  };
}

async function append(path: string, events: readonly OutgoingEvent[]): Promise<void> {
  if (events.length === 0) return;
  const file = await open(path, "a+", 0o600);
  try {
    const lines = events.map(({ json }) => `${json}\n`).join("");
    await file.appendFile((await endsTorn(file)) ? `\n${lines}` : lines);
    await file.datasync();
  } finally {
    await file.close();
  }
}

async function endsTorn(file: FileHandle): Promise<boolean> {
  const { size } = await file.stat();
  if (size === 0) return false;
  const { buffer } = await file.read(Buffer.alloc(1), 0, 1, size - 1);
  return buffer[0] !== NEWLINE;
}
