import type { LoopEvent } from "@sallyport/engine/loop";
import { cleanDeep } from "./clean.ts";
import type { ScreenEvent } from "./screen-state.ts";

/** The one border where events enter the screen: afterwards no string of them can act on a terminal (NFR-SEC-05). */
export function cleanEvent(event: ScreenEvent): ScreenEvent {
  if (event.kind !== "stdout" && event.kind !== "stderr") return cleanDeep(event);
  return cleanDeep({ ...event, chunk: withoutOverwritten(event.chunk) } satisfies LoopEvent);
}

/** Of a line that is written over again and again, as a progress bar is, the last state stays. */
function withoutOverwritten(chunk: string): string {
  if (!chunk.includes("\r")) return chunk;
  const lines = chunk.replaceAll("\r\n", "\n").split("\n");
  return lines.map((line) => line.slice(line.lastIndexOf("\r", line.length - 2) + 1)).join("\n");
}
