import type { ScreenStore } from "../screen-store.ts";
import { entryLines } from "../state/entry-lines.ts";
import type { ScreenEvent, ScreenState } from "../state/screen-state.ts";

/** Lines of a call's output that are read out; of more only the number is told. */
const READ_OUT = 20;

/** Tells in lines what happens. Returns how to stop. */
export function narrate(store: ScreenStore, say: (line: string) => void): () => void {
  let told = 0;
  let output = { index: -1, lines: 0 };
  const tellEntries = ({ entries }: ScreenState) => {
    for (const line of entries.slice(told).flatMap(entryLines)) say(line);
    told = entries.length;
  };
  tellEntries(store.state);
  return store.follow((event, state) => {
    if (event.kind === "cleared") told = 0;
    tellEntries(state);
    if (event.kind === "started") {
      output = { index: event.index, lines: 0 };
      say(`Tool ${nameOf(state, event)}: started`);
    }
    output = tellOutput(event, state, output, say);
  });
}

function nameOf(state: ScreenState, { index, name }: Extract<ScreenEvent, { kind: "started" }>): string {
  const summary = state.calls.find((call) => call.index === index)?.summary ?? "";
  return summary === "" ? name : `${name} (${summary})`;
}

interface Told {
  index: number;
  lines: number;
}

function tellOutput(event: ScreenEvent, state: ScreenState, told: Told, say: (line: string) => void): Told {
  const { output } = state;
  if ((event.kind !== "stdout" && event.kind !== "stderr") || output === undefined) return told;
  if (output.index !== told.index) return { index: output.index, lines: 0 };
  const fresh = Math.min(output.total, READ_OUT) - told.lines;
  const first = output.lines.length - (output.total - told.lines);
  for (const line of fresh > 0 && first >= 0 ? output.lines.slice(first, first + fresh) : [])
    say(`  | ${line}`);
  const more = output.total > READ_OUT && told.lines < READ_OUT;
  if (more) say("  | more output follows and is not read out");
  return { index: told.index, lines: Math.min(output.total, READ_OUT) };
}
