import type { InterruptedBatch } from "@sallyport/loop";
import { type Interrupted, interruption } from "../interrupt.ts";
import { interruptedCall, introOf } from "../recovery-text.ts";
import type { ScreenParts } from "../screen-parts.ts";
import type { ScreenStore } from "../screen-store.ts";
import { cleanLine } from "../state/clean.ts";
import { entryLines } from "../state/entry-lines.ts";
import type { ScreenEvent, ScreenState } from "../state/screen-state.ts";
import { Talk } from "../talk.ts";
import type { Dialogue } from "./ask-question.ts";
import { LineReader } from "./line-reader.ts";
import { PlainAsker } from "./plain-asker.ts";

/** Lines of a call's output that are read out; of more only the number is told. */
const READ_OUT = 20;

/** Tells in lines what happens. Returns how to stop. */
function narrate(store: ScreenStore, say: (line: string) => void): () => void {
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

/** The screen line by line: nothing is redrawn, moved or coloured, so that it can be read aloud. */
export async function plainScreen(
  parts: ScreenParts,
  store: ScreenStore,
  leaving: AbortController,
): Promise<void> {
  const { door, commands, io, person } = parts;
  const { say, prompt } = voiceOf(io.stdout);
  const reader = new LineReader(io.stdin);
  const broken: unknown[] = [];
  const talk = new Talk({
    door,
    store,
    commands,
    broke: (error) => {
      broken.push(error);
      leaving.abort();
    },
  });
  const asker = new PlainAsker({ reader, say, prompt, commands });
  // A pipe cannot have read the question: only at a terminal can somebody answer.
  const detach = io.stdin.isTTY ? person.attach(asker) : () => {};
  const silence = narrate(store, say);
  const listening = onInterrupt(talk, leaving, say);
  try {
    say(`${parts.info().model}, ${parts.info().mode}, ${parts.info().folder}.`);
    await converse({ talk, store, reader, say, prompt, leaving });
  } finally {
    await talk.stop();
    for (const stop of [detach, silence, listening]) stop();
    reader.close();
  }
  if (broken.length > 0) throw broken[0];
}

function voiceOf(stdout: ScreenParts["io"]["stdout"]) {
  return {
    say: (line: string) => void stdout.write(`${line}\n`),
    /** The person's own Enter ends the line. */
    prompt: (text: string) => void stdout.write(text),
  };
}

interface Conversing {
  talk: Talk;
  store: ScreenStore;
  reader: LineReader;
  say(line: string): void;
  prompt(text: string): void;
  leaving: AbortController;
}

async function converse(parts: Conversing): Promise<void> {
  const { talk, store, reader, say, prompt, leaving } = parts;
  const { signal } = leaving;
  while (!signal.aborted) {
    const { loop } = store.state;
    if (loop.state === "recovery") {
      const choice = await plainRecovery(loop.batch, { reader, say, prompt, signal });
      if (choice === undefined) return;
      await talk.recover(choice);
      continue;
    }
    if (loop.state === "awaiting_results") plainResults(loop.calls, say);
    prompt("You: ");
    const line = await entered(reader, signal);
    if (line === undefined) return;
    if ((await talk.enter(line)) === "leave") return;
  }
}

/** Lines that end in a backslash go on in the next one. */
async function entered(reader: LineReader, signal: AbortSignal): Promise<string | undefined> {
  let text = await reader.next(signal);
  while (text?.endsWith("\\")) {
    const next = await reader.next(signal);
    if (next === undefined) return text;
    text = `${text.slice(0, -1)}\n${next}`;
  }
  return text;
}

function onInterrupt(talk: Talk, leaving: AbortController, say: (line: string) => void): () => void {
  let last: Interrupted | undefined;
  const interrupt = () => {
    const now = { at: Date.now(), begun: talk.begun };
    if (interruption(now, { last, busy: talk.canBeStopped, empty: true }) === "leave") return leaving.abort();
    last = now;
    say("Stopping. Ctrl-C again leaves.");
    talk.cancel();
  };
  process.on("SIGINT", interrupt);
  return () => void process.off("SIGINT", interrupt);
}

/** Asks what to do with an interrupted batch (FR-RES-05); undefined when the person leaves instead. */
async function plainRecovery(
  batch: InterruptedBatch,
  { reader, say, prompt, signal }: Dialogue,
): Promise<"resume" | "discard" | undefined> {
  say("This conversation was interrupted.");
  say(introOf(batch));
  for (const call of batch.calls) {
    const { result } = call;
    const what = result === undefined ? "no result: it may have run, or not" : cleanLine(result.content);
    say(`  ${interruptedCall(call)}: ${what}`);
  }
  say("Nothing runs again, whatever you choose.");
  await reader.forget();
  for (;;) {
    prompt("[r]esume with these results, or [d]iscard them, so that every call counts as failed? ");
    const line = (await reader.next(signal))?.trim().toLowerCase();
    if (line === undefined) return undefined;
    if (line === "r" || line === "resume") return "resume";
    if (line === "d" || line === "discard") return "discard";
  }
}

/** Says which calls wait for a result (FR-TUI-04). */
function plainResults(
  calls: readonly { id: string; name: string; arguments: string }[],
  say: (line: string) => void,
): void {
  say(`${calls.length} ${calls.length === 1 ? "call waits" : "calls wait"} for your result.`);
  for (const { id, name, arguments: given } of calls)
    say(`  ${cleanLine(name)}, id ${cleanLine(id)}: ${cleanLine(given)}`);
  say("Enter /tool <id> <result>, or /tool error <id> <message>.");
}
