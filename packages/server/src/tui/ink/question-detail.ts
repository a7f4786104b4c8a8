import { Box, Text } from "ink";
import { useMemo } from "react";
import { type ApprovalPrompt, currentOf } from "../keys/approval-prompt.ts";
import type { Draft } from "../keys/draft.ts";
import { argumentRows, changeRows, type DetailRow } from "../state/detail-rows.ts";
import { DetailView, Heading } from "./detail-view.ts";
import { DraftView } from "./draft-view.ts";
import { type Drawn, h, useLook } from "./element.ts";
import type { PromptLayout } from "./prompt-layout.ts";

const KEYS = [
  ["a", "approve all"],
  ["d, Esc", "deny all; d asks for a reason"],
  ["space", "select; Enter runs the selected, denies the rest"],
  ["j k, arrows", "to the next or previous call"],
  ["p / v", "what would change / the arguments"],
  ["PgUp PgDn", "scroll them"],
  ["e", "edit the arguments first"],
  ["A", "also allow calls like it from now on"],
] as const;

/** What the keys of the prompt do. */
function ApprovalHelp({ rows }: { rows: number }): Drawn {
  const { paint } = useLook();
  return h(
    Box,
    { flexDirection: "column", flexShrink: 0 },
    ...KEYS.slice(0, rows).map(([key, what]) =>
      h(Text, { key, wrap: "truncate-end" }, h(Text, paint("accent"), key.padEnd(12)), what),
    ),
  );
}

interface DetailProps {
  prompt: ApprovalPrompt;
  layout: PromptLayout;
  rows: readonly DetailRow[];
}

/** What the current question is about: the changes, the arguments, or the arguments being edited. */
export function QuestionDetail({ prompt, layout, rows }: DetailProps): Drawn {
  const { view, doing } = prompt;
  const { width, detail } = layout;
  if (detail.rows === 0) return null;
  if (doing.task === "help") return h(ApprovalHelp, { rows: detail.rows + (detail.heading ? 1 : 0) });
  if (doing.task === "edit") {
    return h(EditorView, { draft: doing.draft, width, height: detail.rows, headed: detail.heading });
  }
  const title = view === "changes" ? "What would change" : "Arguments";
  return h(DetailView, {
    title: detail.heading ? title : undefined,
    rows,
    width,
    height: detail.rows,
    scroll: prompt.scroll,
  });
}

/** The rows that can be scrolled. */
export function useDetailRows(prompt: ApprovalPrompt, width: number): readonly DetailRow[] {
  const current = currentOf(prompt);
  const { view } = prompt;
  return useMemo(() => rowsOf(current, view, width), [current, view, width]);
}

function rowsOf(
  current: ReturnType<typeof currentOf>,
  view: ApprovalPrompt["view"],
  width: number,
): DetailRow[] {
  if (current === undefined || view === "nothing") return [];
  if (view === "arguments") return argumentRows(current.editable, width);
  const { preview } = current.question;
  if (preview === undefined)
    return [{ text: "It cannot be told beforehand what this would change.", tone: "careful" }];
  return changeRows(preview, width);
}

interface EditorProps {
  draft: Draft;
  width: number;
  height: number;
  headed: boolean;
}

/** A small editor of several lines. */
function EditorView({ draft, width, height, headed }: EditorProps): Drawn {
  return h(
    Box,
    { flexDirection: "column", flexShrink: 0 },
    headed ? h(Heading, { title: "Edit the arguments", more: "", width }) : null,
    h(DraftView, { draft, width, height }),
  );
}
