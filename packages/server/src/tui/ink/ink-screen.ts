import { ReadStream } from "node:tty";
import { render } from "ink";
import { lookOf } from "../look.ts";
import type { ScreenParts } from "../run-screen.ts";
import type { ScreenStore } from "../screen-store.ts";
import { Talk } from "../talk.ts";
import { App } from "./app.ts";
import { h, LookContext } from "./element.ts";
import { ScreenDesk } from "./screen-desk.ts";

const MAX_FPS = 20;
const WIPE = "\u001b[2J\u001b[3J\u001b[H";

/**
 * From before the first painting on: Ink does it only afterwards, and whoever is faster would see their Enter become a
 * line break.
 */
function takeKeysRaw(stdin: ScreenParts["io"]["stdin"]): void {
  if (stdin instanceof ReadStream && stdin.isTTY) stdin.setRawMode(true);
}

/** Runs the screen until the person leaves; rejects, with the terminal restored, when something broke. */
export async function inkScreen(
  parts: ScreenParts,
  store: ScreenStore,
  leaving: AbortController,
): Promise<void> {
  const { door, commands, info, io, options } = parts;
  let broken: { error: unknown } | undefined;
  const broke = (error: unknown) => {
    broken ??= { error };
    leaving.abort();
  };
  const talk = new Talk({ door, store, commands, broke });
  const desk = new ScreenDesk({
    store,
    talk,
    commands,
    leave: () => leaving.abort(),
    wipe: () => {
      // Ink has to forget what it has painted, or it would take it to be still there.
      screen.clear();
      io.stdout.write(WIPE);
    },
  });
  const detach = parts.person.attach(desk);
  const app = h(LookContext, { value: lookOf(options) }, h(App, { store, desk, talk, info }));
  const { stdin, stdout, stderr } = io;
  takeKeysRaw(stdin);
  const screen = render(app, {
    stdin,
    stdout,
    stderr,
    exitOnCtrlC: false,
    maxFps: MAX_FPS,
    interactive: true,
    patchConsole: false,
    onRender: () => desk.painted(),
  });
  leaving.signal.addEventListener("abort", () => screen.unmount(), { once: true });
  try {
    await screen.waitUntilExit();
  } finally {
    detach();
    desk.close();
    screen.cleanup();
    await talk.stop();
  }
  if (broken) throw broken.error;
}
