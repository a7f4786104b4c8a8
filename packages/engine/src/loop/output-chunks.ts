import { StringDecoder } from "node:string_decoder";
import type { OutputListener } from "../ports/runner.ts";
import type { LoopEvent } from "./loop-events.ts";

const STREAMS = ["stdout", "stderr"] as const;
type Stream = (typeof STREAMS)[number];

/**
 * What a process writes, as text for whoever watches; characters that are cut between two chunks stay whole. While the
 * watchers do not keep up, what comes is joined by stream, so that it takes no more room than its text (NFR-PERF-04).
 */
export function outputChunks(
  call: { index: number; id: string },
  tell: (event: LoopEvent) => void | Promise<void>,
): { take: OutputListener; end(): Promise<void> } {
  const decoders = { stdout: new StringDecoder("utf8"), stderr: new StringDecoder("utf8") };
  const waiting: Record<Stream, string> = { stdout: "", stderr: "" };
  let telling: Promise<void> | undefined;
  const flush = async (before: Promise<void>): Promise<void> => {
    await before;
    for (const kind of STREAMS) {
      const chunk = waiting[kind];
      waiting[kind] = "";
      if (chunk !== "") await tell({ kind, ...call, chunk });
    }
    telling = waiting.stdout + waiting.stderr === "" ? undefined : flush(Promise.resolve());
  };
  const say = (kind: Stream, chunk: string) => {
    if (chunk === "") return;
    if (telling) {
      waiting[kind] += chunk;
      return;
    }
    const told = tell({ kind, ...call, chunk });
    if (told) telling = flush(told);
  };
  return {
    take: (stream, chunk) => say(stream, decoders[stream].write(Buffer.from(chunk))),
    async end() {
      for (const kind of STREAMS) say(kind, decoders[kind].end());
      while (telling) await telling;
    },
  };
}
