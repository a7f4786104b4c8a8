import { ReadStream } from "node:tty";
import { Box, render, Static, useInput, usePaste, useWindowSize } from "ink";
import { useMemo, useSyncExternalStore } from "react";
import type { ScreenInfo } from "../chat-commands.ts";
import { pressesOf } from "../keys/press.ts";
import { lookOf } from "../look.ts";
import type { ScreenParts } from "../screen-parts.ts";
import type { ScreenStore } from "../screen-store.ts";
import type { Entry } from "../state/screen-state.ts";
import { Talk } from "../talk.ts";
import { type Drawn, h, LookContext } from "./element.ts";
import { EntryView } from "./entry-view.ts";
import { LiveView } from "./live-view.ts";
import { ScreenController } from "./screen-controller.ts";

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
  const controller = new ScreenController({
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
  const detach = parts.person.attach(controller);
  const app = h(LookContext, { value: lookOf(options) }, h(App, { store, controller, talk, info }));
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
    onRender: () => controller.painted(),
  });
  leaving.signal.addEventListener("abort", () => screen.unmount(), { once: true });
  try {
    await screen.waitUntilExit();
  } finally {
    detach();
    controller.close();
    screen.cleanup();
    await talk.stop();
  }
  if (broken) throw broken.error;
}

interface AppProps {
  store: ScreenStore;
  controller: ScreenController;
  talk: Talk;
  info: () => ScreenInfo;
}

/** The whole screen: what is finished goes to the terminal's own scrollback, the rest is redrawn below it. */
function App({ store, controller, talk, info }: AppProps): Drawn {
  const state = useSyncExternalStore(
    (changed) => store.watch(changed),
    () => store.state,
  );
  const at = useSyncExternalStore(
    (changed) => controller.watch(changed),
    () => controller.input,
  );
  const items = useMemo(() => [...state.entries], [state.entries]);
  const { columns, rows } = useWindowSize();
  useInput((input, key) => {
    for (const press of pressesOf(input, key)) controller.arrives({ kind: "press", press });
  });
  usePaste((text) => controller.arrives({ kind: "paste", text }));
  return h(
    Box,
    { flexDirection: "column" },
    h(Static<Entry>, {
      key: at.generation,
      items,
      // Outside the flow nothing bounds the width but this.
      children: (entry, index) =>
        h(Box, { key: index, width: columns, flexDirection: "column" }, h(EntryView, { entry, columns })),
    }),
    h(LiveView, {
      state,
      input: at,
      busy: talk.busy,
      info: info(),
      columns,
      rows,
      showsRows: (count) => controller.showsRows(count),
      draws: (drawn) => controller.draws(drawn),
    }),
  );
}
