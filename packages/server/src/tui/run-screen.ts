import type { LoopState } from "@sallyport/loop";
import { inkScreen } from "./ink/ink-screen.ts";
import { plainScreen } from "./plain/plain-screen.ts";
import type { ScreenParts } from "./screen-parts.ts";
import { ScreenStore } from "./screen-store.ts";
import { historyEntries } from "./state/history.ts";
import { type Entry, emptyScreen } from "./state/screen-state.ts";

const TERMINATED = 143;

const WELCOME: Entry = {
  kind: "block",
  title: "Sallyport",
  lines: [
    "Every tool call is checked first, and you approve the risky ones.",
    "/help lists what you can do.",
  ],
};

/**
 * Shows a conversation in a terminal until the person leaves. What is under way then is cancelled. The terminal is
 * restored however it ends: by the person, by an order to end, or by a defect, which is thrown.
 */
export async function runScreen(parts: ScreenParts): Promise<number> {
  const { door, turns } = parts;
  const store = new ScreenStore(emptyScreen());
  store.take({ kind: "state", state: door.state });
  store.take({
    kind: "entries",
    entries: turns.length === 0 ? [WELCOME] : historyEntries(turns, interruptedIn(door.state)),
  });
  const stopListening = door.listen(store.listen);
  const leaving = new AbortController();
  const ended = endOrders(parts.signal, leaving);
  try {
    await (isPlain(parts) ? plainScreen : inkScreen)(parts, store, leaving);
  } finally {
    stopListening();
    store.close();
    ended.done();
  }
  return ended.ordered() ? TERMINATED : 0;
}

/** The calls of a batch that was interrupted, by id. */
function interruptedIn(state: LoopState): ReadonlySet<string> {
  return new Set(state.state === "recovery" ? state.batch.calls.map(({ id }) => id) : []);
}

/** Only a terminal can be drawn on, and only at one can keys be pressed. */
function isPlain({ options, io }: ScreenParts): boolean {
  return options.plain || !io.stdin.isTTY || !io.stdout.isTTY;
}

/** Leaves on an order to end, so that the terminal is put right first. */
function endOrders(signal: AbortSignal | undefined, leaving: AbortController) {
  let ordered = false;
  const end = () => {
    ordered = true;
    leaving.abort();
  };
  // Not `once`: Ink ends the process by itself where it finds no other listener left.
  process.on("SIGTERM", end);
  process.on("SIGHUP", end);
  if (signal?.aborted) end();
  signal?.addEventListener("abort", end, { once: true });
  const done = () => {
    process.off("SIGTERM", end);
    process.off("SIGHUP", end);
    signal?.removeEventListener("abort", end);
  };
  return { done, ordered: () => ordered };
}
