import { Box, Text } from "ink";
import type { ScreenInfo } from "../chat-commands.ts";
import type { ShownDetail } from "../keys/approval-prompt.ts";
import type { ScreenState } from "../state/screen-state.ts";
import { ApprovalView } from "./approval-view.ts";
import { CallLine } from "./call-line.ts";
import { type Drawn, h, useLook } from "./element.ts";
import { SpeechText } from "./entry-view.ts";
import { InputView } from "./input-view.ts";
import { OutputView } from "./output-view.ts";
import { RecoveryView } from "./recovery-view.ts";
import { ResultsView } from "./results-view.ts";
import type { Desk } from "./screen-desk.ts";
import { StatusLine } from "./status-line.ts";

interface LiveProps {
  state: ScreenState;
  desk: Desk;
  busy: boolean;
  info: ScreenInfo;
  columns: number;
  rows: number;
  showsRows: (rows: number) => void;
  showsDetail: (detail: ShownDetail) => void;
}

/** The part that changes. It never fills the window: what is higher would be redrawn as a whole each time. */
export function LiveView(props: LiveProps): Drawn {
  const { state, desk, busy, info, columns, rows } = props;
  const { paint } = useLook();
  return h(
    Box,
    { flexDirection: "column", maxHeight: rows - 1, overflow: "hidden", justifyContent: "flex-end" },
    desk.approval ? null : h(Under, props),
    h(
      Box,
      { flexDirection: "column", flexShrink: 0 },
      h(Lower, props),
      desk.flash === undefined
        ? null
        : h(Text, { ...paint("careful"), wrap: "truncate-end" }, ` ${desk.flash}`),
      h(StatusLine, { info, loop: state.loop, busy, columns }),
    ),
  );
}

/** What the model says and its calls do at the moment. */
function Under({ state, rows, showsRows }: LiveProps) {
  const { speech, calls, output } = state;
  const shown = calls.slice(0, Math.max(2, Math.floor(rows / 3)));
  const height = Math.max(2, Math.min(12, rows - shown.length - 10));
  showsRows(height);
  const name = calls.find(({ index }) => index === output?.index)?.name ?? "output";
  return h(
    Box,
    { flexDirection: "column", justifyContent: "flex-end", overflow: "hidden" },
    speech === undefined || speech.partial === "" ? null : h(SpeechText, { ...speech, text: speech.partial }),
    ...shown.map((call) => h(CallLine, { key: call.index, call })),
    calls.length > shown.length
      ? h(Text, { key: "more" }, `    and ${calls.length - shown.length} more`)
      : null,
    output === undefined ? null : h(OutputView, { ring: output, rows: height, name }),
  );
}

/** What the person is asked, or where they write. */
function Lower({ state, desk, columns, rows, showsDetail }: LiveProps) {
  const { loop } = state;
  if (desk.approval !== undefined)
    return h(ApprovalView, { prompt: desk.approval, columns, rows, showsDetail });
  if (desk.recoverySince !== undefined && loop.state === "recovery") {
    return h(RecoveryView, { batch: loop.batch, rows, columns });
  }
  return [
    loop.state === "awaiting_results" ? h(ResultsView, { key: "results", calls: loop.calls, rows }) : null,
    h(InputView, { key: "input", draft: desk.draft, columns, rows: Math.max(2, Math.floor(rows / 3)) }),
  ];
}
