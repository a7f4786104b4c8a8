import { StringDecoder } from "node:string_decoder";
import type { OutputListener } from "../ports/runner.ts";
import type { LoopEvent } from "./loop-events.ts";

/** What a process writes, as text for whoever watches; characters that are cut between two chunks stay whole. */
export function outputChunks(
  call: { index: number; id: string },
  tell: (event: LoopEvent) => void | Promise<void>,
): { take: OutputListener; end(): Promise<void> } {
  const decoders = { stdout: new StringDecoder("utf8"), stderr: new StringDecoder("utf8") };
  let last: void | Promise<void>;
  const say = (kind: "stdout" | "stderr", chunk: string) => {
    if (chunk !== "") last = tell({ kind, ...call, chunk });
  };
  return {
    take: (stream, chunk) => say(stream, decoders[stream].write(Buffer.from(chunk))),
    async end() {
      say("stdout", decoders.stdout.end());
      say("stderr", decoders.stderr.end());
      await last;
    },
  };
}
