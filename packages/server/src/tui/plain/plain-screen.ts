import { type Interrupted, interruption } from "../interrupt.ts";
import type { ScreenParts } from "../run-screen.ts";
import type { ScreenStore } from "../screen-store.ts";
import { Talk } from "../talk.ts";
import { LineReader } from "./line-reader.ts";
import { PlainAsker } from "./plain-asker.ts";
import { narrate } from "./plain-narration.ts";
import { plainRecovery, plainResults } from "./plain-states.ts";

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
