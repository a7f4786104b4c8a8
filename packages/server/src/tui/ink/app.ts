import { Box, Static, useInput, usePaste, useWindowSize } from "ink";
import { useMemo, useSyncExternalStore } from "react";
import type { ScreenInfo } from "../chat-commands.ts";
import { pressesOf } from "../keys/press.ts";
import type { ScreenStore } from "../screen-store.ts";
import type { Entry } from "../state/screen-state.ts";
import type { Talk } from "../talk.ts";
import { type Drawn, h } from "./element.ts";
import { EntryView } from "./entry-view.ts";
import { LiveView } from "./live-view.ts";
import type { ScreenDesk } from "./screen-desk.ts";

export interface AppProps {
  store: ScreenStore;
  desk: ScreenDesk;
  talk: Talk;
  info: () => ScreenInfo;
}

/** The whole screen: what is finished goes to the terminal's own scrollback, the rest is redrawn below it. */
export function App({ store, desk, talk, info }: AppProps): Drawn {
  const state = useSyncExternalStore(
    (changed) => store.watch(changed),
    () => store.state,
  );
  const at = useSyncExternalStore(
    (changed) => desk.watch(changed),
    () => desk.desk,
  );
  const items = useMemo(() => [...state.entries], [state.entries]);
  const { columns, rows } = useWindowSize();
  useInput((input, key) => {
    for (const press of pressesOf(input, key)) desk.arrives({ kind: "press", press });
  });
  usePaste((text) => desk.arrives({ kind: "paste", text }));
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
      desk: at,
      busy: talk.busy,
      info: info(),
      columns,
      rows,
      showsRows: (count) => desk.showsRows(count),
      draws: (drawn) => desk.draws(drawn),
    }),
  );
}
