import { Box, Text } from "ink";
import type { ScreenInfo } from "../chat-commands.ts";
import type { ScreenState } from "../state/screen-state.ts";
import { ApprovalView } from "./approval-view.ts";
import { CallLine } from "./call-line.ts";
import { type Drawn, h, useLook } from "./element.ts";
import { MARK_CELLS, SpeechText } from "./entry-view.ts";
import { InputView } from "./input-view.ts";
import { OutputView } from "./output-view.ts";
import { type PromptLayout, promptLayout } from "./prompt-layout.ts";
import type { DrawnPrompt } from "./prompt-sight.ts";
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
  draws: (drawn: DrawnPrompt | "recovery") => void;
}

/** The part that changes. It never fills the window: what is higher would be redrawn as a whole each time. */
export function LiveView(props: LiveProps): Drawn {
  const { state, desk, busy, info, columns, rows } = props;
  const { paint } = useLook();
  const taken = desk.flash === undefined ? 0 : 1;
  const layout = desk.approval && promptLayout(desk.approval, { columns, rows, taken });
  return h(
    Box,
    { flexDirection: "column", maxHeight: Math.max(1, rows - 1), overflow: "hidden", ...toEnd(layout) },
    desk.approval ? null : h(Under, props),
    h(
      Box,
      { flexDirection: "column", flexShrink: 0 },
      h(Lower, { ...props, layout }),
      desk.flash === undefined
        ? null
        : h(Text, { ...paint("careful"), wrap: "truncate-end" }, ` ${desk.flash}`),
      layout && !layout.status ? null : h(StatusLine, { info, loop: state.loop, busy, columns }),
    ),
  );
}

/** Where not all can be shown, the end of a conversation matters, and the beginning of a question. */
function toEnd(layout: PromptLayout | undefined) {
  return layout ? {} : ({ justifyContent: "flex-end" } as const);
}

/** What the model says and its calls do at the moment. */
function Under({ state, columns, rows, showsRows }: LiveProps) {
  const { speech, calls, output } = state;
  const shown = calls.slice(0, Math.max(2, Math.floor(rows / 3)));
  const height = Math.max(2, Math.min(12, rows - shown.length - 10));
  showsRows(height);
  const name = calls.find(({ index }) => index === output?.index)?.name ?? "output";
  const said = speech && { ...speech, text: speech.partial, width: columns - MARK_CELLS };
  return h(
    Box,
    { flexDirection: "column", justifyContent: "flex-end", overflow: "hidden" },
    // It does not shrink, so that of what is too high the beginning goes and not what was said last.
    h(
      Box,
      { flexDirection: "column", flexShrink: 0 },
      said === undefined || said.text === "" ? null : h(SpeechText, said),
      ...shown.map((call) => h(CallLine, { key: call.index, call })),
      calls.length > shown.length
        ? h(Text, { key: "more" }, `    and ${calls.length - shown.length} more`)
        : null,
      output === undefined ? null : h(OutputView, { ring: output, rows: height, name }),
    ),
  );
}

/** What the person is asked, or where they write. */
function Lower(props: LiveProps & { layout: PromptLayout | undefined }) {
  const { state, desk, columns, rows, draws, layout } = props;
  const { loop } = state;
  const { approval, armed } = desk;
  if (approval && layout) return h(ApprovalView, { prompt: approval, layout, columns, armed, draws });
  if (desk.recovering && loop.state === "recovery") {
    draws("recovery");
    return h(RecoveryView, { batch: loop.batch, rows, columns, armed });
  }
  return [
    loop.state === "awaiting_results" ? h(ResultsView, { key: "results", calls: loop.calls, rows }) : null,
    h(InputView, { key: "input", draft: desk.draft, columns, rows }),
  ];
}
