import type { InterruptedBatch } from "@sallyport/loop";
import { Box, Text } from "ink";
import type { ScreenInfo } from "../chat-commands.ts";
import type { Draft } from "../keys/draft.ts";
import { hintLines, type KeyHint } from "../keys/prompt-hints.ts";
import { interruptedCall, introOf } from "../recovery-text.ts";
import { cleanLine } from "../state/clean.ts";
import { type OutputRing, ringWindow } from "../state/output-ring.ts";
import type { ScreenState } from "../state/screen-state.ts";
import { ApprovalView } from "./approval-view.ts";
import { CallLine } from "./call-line.ts";
import { DraftView } from "./draft-view.ts";
import { type Drawn, h, useLook } from "./element.ts";
import { MARK_CELLS, SpeechText } from "./entry-view.ts";
import { KeyHints } from "./key-hints.ts";
import { type PromptLayout, promptLayout } from "./prompt-layout.ts";
import type { DrawnPrompt } from "./prompt-sight.ts";
import { ResultsView } from "./results-view.ts";
import type { InputState } from "./screen-controller.ts";
import { StatusLine } from "./status-line.ts";

const HINTS: readonly KeyHint[] = [
  ["r", "resume with these results"],
  ["d", "discard them: every call counts as failed"],
];

interface RecoveryProps {
  batch: InterruptedBatch;
  rows: number;
  columns: number;
  armed: boolean;
}

/** An earlier process ended in the middle of a batch: what is known of it, and what can be done (FR-RES-05). */
function RecoveryView({ batch, rows, columns, armed }: RecoveryProps): Drawn {
  const { border, paint, glyphs, colour } = useLook();
  const keys = hintLines(HINTS, columns - 2).length;
  // The title, what is known, the keys, the status line, and a row that stays free.
  const left = rows - 4 - keys;
  const framed = left >= batch.calls.length + 4;
  const room = left - (framed ? 4 : 0);
  const shown = batch.calls.slice(0, room >= batch.calls.length ? room : Math.max(1, room - 1));
  const more = batch.calls.length - shown.length;
  const frame = { borderStyle: border, paddingX: 1, ...(colour && { borderColor: "yellow" }) };
  return h(
    Box,
    { flexDirection: "column", flexShrink: 0, marginTop: framed ? 1 : 0 },
    h(
      Box,
      { flexDirection: "column", flexShrink: 0, ...(framed && frame) },
      h(Text, { ...paint("strong"), wrap: "truncate-end" }, "This conversation was interrupted"),
      h(Text, { wrap: "truncate-end" }, introOf(batch)),
      ...shown.map((call) => h(RecoveredCall, { key: call.index, call })),
      more > 0 && room > 1 ? h(Text, paint("faint"), `  ${glyphs.ellipsis} and ${more} more`) : null,
      framed ? h(Text, paint("faint"), "Nothing runs again, whatever you choose.") : null,
    ),
    h(Box, { paddingX: 1 }, h(KeyHints, { width: columns - 2, hints: HINTS, most: keys, armed })),
  );
}

function RecoveredCall({ call }: { call: InterruptedBatch["calls"][number] }) {
  const { glyphs, paint } = useLook();
  const { result } = call;
  const mark = result === undefined ? glyphs.refused : result.isError ? glyphs.failed : glyphs.done;
  const tone = result === undefined ? "careful" : result.isError ? "bad" : "good";
  const what = result === undefined ? "no result: it may have run, or not" : cleanLine(result.content);
  return h(
    Text,
    { wrap: "truncate-end" },
    h(Text, paint(tone), `${mark} `),
    h(Text, paint("strong"), interruptedCall(call)),
    "  ",
    what,
  );
}

/** In a lower window nothing is spent on a rule: what was said last has to be seen too. */
const ROOMY_ROWS = 10;

/** The line, or lines, the person writes in. */
function InputView({ draft, columns, rows }: { draft: Draft; columns: number; rows: number }): Drawn {
  const { glyphs, paint } = useLook();
  const roomy = rows >= ROOMY_ROWS;
  const height = Math.max(1, Math.floor(rows / 3));
  const hint = h(Text, { ...paint("faint"), wrap: "truncate-end" }, "Say something, or /help");
  return h(
    Box,
    { flexDirection: "column", flexShrink: 0, marginTop: roomy ? 1 : 0 },
    roomy ? h(Text, { ...paint("faint"), wrap: "truncate-end" }, glyphs.rule.repeat(columns)) : null,
    h(
      Box,
      null,
      h(Box, { width: 2, flexShrink: 0 }, h(Text, paint("accent"), glyphs.user)),
      h(DraftView, { draft, width: columns - 2, height }),
      draft.text === "" ? hint : null,
    ),
  );
}

interface LiveProps {
  state: ScreenState;
  input: InputState;
  busy: boolean;
  info: ScreenInfo;
  columns: number;
  rows: number;
  showsRows: (rows: number) => void;
  draws: (drawn: DrawnPrompt | "recovery") => boolean;
}

/** The part that changes. It never fills the window: what is higher would be redrawn as a whole each time. */
export function LiveView(props: LiveProps): Drawn {
  const { state, input, busy, info, columns, rows } = props;
  const { paint } = useLook();
  const taken = input.flash === undefined ? 0 : 1;
  const layout = input.approval && promptLayout(input.approval, { columns, rows, taken });
  return h(
    Box,
    { flexDirection: "column", maxHeight: Math.max(1, rows - 1), overflow: "hidden", ...toEnd(layout) },
    input.approval ? null : h(Under, props),
    h(
      Box,
      { flexDirection: "column", flexShrink: 0 },
      h(Lower, { ...props, layout }),
      input.flash === undefined
        ? null
        : h(Text, { ...paint("careful"), wrap: "truncate-end" }, ` ${input.flash}`),
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
  const { state, input, columns, rows, draws, layout } = props;
  const { loop } = state;
  const { approval, armed } = input;
  if (approval && layout) return h(ApprovalView, { prompt: approval, layout, columns, armed, draws });
  if (input.recovering && loop.state === "recovery") {
    draws("recovery");
    return h(RecoveryView, { batch: loop.batch, rows, columns, armed });
  }
  return [
    loop.state === "awaiting_results" ? h(ResultsView, { key: "results", calls: loop.calls, rows }) : null,
    h(InputView, { key: "input", draft: input.draft, columns, rows }),
  ];
}

/** What a running call writes: the last lines, or where the person has scrolled to (FR-TUI-03). */
function OutputView({ ring, rows, name }: { ring: OutputRing; rows: number; name: string }): Drawn {
  const { glyphs, paint, border } = useLook();
  const { rows: shown, below } = ringWindow(ring, rows);
  if (shown.length === 0) return null;
  const hint =
    below > 0
      ? `${glyphs.down} ${below} more ${below === 1 ? "line" : "lines"} below (PgDn)`
      : `${ring.total} ${ring.total === 1 ? "line" : "lines"}${ring.total > rows ? `, PgUp scrolls` : ""}`;
  return h(
    Box,
    { flexDirection: "column", borderStyle: border, borderDimColor: true, paddingX: 1, marginLeft: 2 },
    ...shown.map((line, index) => h(Text, { key: index, wrap: "truncate-end" }, line === "" ? " " : line)),
    h(Text, { ...paint(below > 0 ? "careful" : "faint"), wrap: "truncate-end" }, `${name}: ${hint}`),
  );
}
