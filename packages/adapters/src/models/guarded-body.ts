import type { IdleWatch } from "./idle-watch.ts";
import { ModelTrouble } from "./model-trouble.ts";

/** Parsers keep an unfinished line in memory. The longest honest one holds a whole tool call. */
const LONGEST_LINE_BYTES = 8 * 1024 * 1024;
const LINE_FEED = 0x0a;

/** The same bytes, until there is silence for too long or a line without end: then it fails with a ModelTrouble. */
export function guardedBody(body: ReadableStream<Uint8Array>, idle: IdleWatch): ReadableStream<Uint8Array> {
  const reader = body.getReader();
  const line = new LineLength();
  return new ReadableStream<Uint8Array>({
    async pull(controller) {
      try {
        const { done, value } = await idle.during(() => reader.read());
        if (done) return controller.close();
        line.add(value);
        controller.enqueue(value);
      } catch (error) {
        controller.error(error);
        await reader.cancel(error).catch(() => undefined);
      }
    },
    cancel: (reason) => reader.cancel(reason),
  });
}

class LineLength {
  #bytes = 0;

  add(chunk: Uint8Array): void {
    const last = chunk.lastIndexOf(LINE_FEED);
    this.#bytes = last === -1 ? this.#bytes + chunk.length : chunk.length - last - 1;
    if (this.#bytes > LONGEST_LINE_BYTES) {
      throw new ModelTrouble("protocol", "it sent a line without end");
    }
  }
}
