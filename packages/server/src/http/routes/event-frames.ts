import type { NumberedNews } from "@sallyport/engine";
import { defined, type InvocationEvents } from "@sallyport/protocol";
import { wholePercent } from "./invocation-views.ts";
import { iso } from "./iso-time.ts";
import { OutputText, type Piece } from "./output-text.ts";

/** Tells the client to come back soon when the connection breaks, and makes proxies pass the answer on at once. */
export const OPENING = "retry: 1000\n: sallyport\n\n";

/** Keeps the connection alive; clients pass it over. */
export const HEARTBEAT = ": still here\n\n";

/** One event as it goes over the wire. An id is where a client that was cut off goes on from. */
export function frame<Name extends keyof InvocationEvents>(
  event: Name,
  data: InvocationEvents[Name],
  id?: string,
): string {
  const named = id === undefined ? "" : `id: ${id}\n`;
  return `${named}event: ${event}\ndata: ${JSON.stringify(data)}\n\n`;
}

/** Makes frames of a call's news, for one reader. */
export class NewsFrames {
  readonly #epoch: string;
  readonly #resultUrl: string;
  readonly #texts = { stdout: new OutputText(), stderr: new OutputText() };

  constructor({ epoch, resultUrl }: { epoch: string; resultUrl: string }) {
    this.#epoch = epoch;
    this.#resultUrl = resultUrl;
  }

  /** Takes in what the reader has had before, so that a character split there is put together. */
  recall(news: NumberedNews): void {
    if (news.kind === "output") this.#texts[news.stream].push(news.chunk);
  }

  of(news: NumberedNews): string[] {
    const id = `${this.#epoch}.${news.number}`;
    const at = iso(news.at);
    switch (news.kind) {
      case "state":
        return [frame("state", { state: news.state, at }, id)];
      case "progress": {
        const percent = wholePercent(news.percent);
        return [frame("progress", { percent, ...defined({ phase: news.phase }), at }, id)];
      }
      case "output":
        return output(news.stream, this.#texts[news.stream].push(news.chunk), { at, id });
      case "ended":
        return [
          ...this.flush(news.at),
          frame("ended", { status: news.status, at, result_url: this.#resultUrl }, id),
        ];
    }
  }

  /** What was held back of the output, when its rest will not come any more. */
  flush(at: number): string[] {
    return (["stdout", "stderr"] as const).flatMap((stream) =>
      output(stream, this.#texts[stream].flush(), { at: iso(at) }),
    );
  }
}

function output(
  stream: "stdout" | "stderr",
  piece: Piece | undefined,
  { at, id }: { at: string; id?: string },
): string[] {
  return piece ? [frame(stream, { ...piece, at }, id)] : [];
}
