import { type LoopEvent, TerminalSanitizer } from "@sallyport/engine/loop";
import { cleanDeep, withoutTabs } from "./clean.ts";
import type { ScreenEvent } from "./screen-state.ts";

/** The one border where events enter the screen: afterwards no string of them can act on a terminal (NFR-SEC-05). */
export class CleanBorder {
  /** A sequence may be cut between two chunks; the one who reads them has to know what came before. */
  readonly #streams = new Map<string, TerminalSanitizer>();

  clean(event: ScreenEvent): ScreenEvent {
    if (event.kind === "stdout" || event.kind === "stderr") return this.#chunk(event);
    if (event.kind === "started" || event.kind === "ended") this.#streams.clear();
    return cleanDeep(event);
  }

  #chunk(event: Extract<LoopEvent, { kind: "stdout" | "stderr" }>): ScreenEvent {
    const name = `${event.kind} ${event.index}`;
    const stream = this.#streams.get(name) ?? new TerminalSanitizer();
    this.#streams.set(name, stream);
    const chunk = withoutTabs(stream.write(withoutOverwritten(event.chunk)));
    return { ...cleanDeep({ ...event, chunk: "" }), chunk };
  }
}

/** Of a line that is written over again and again, as a progress bar is, the last state stays. */
function withoutOverwritten(chunk: string): string {
  if (!chunk.includes("\r")) return chunk;
  const lines = chunk.replaceAll("\r\n", "\n").split("\n");
  return lines.map((line) => line.slice(line.lastIndexOf("\r", line.length - 2) + 1)).join("\n");
}
