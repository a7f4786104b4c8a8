import { useMemo } from "react";
import { type ApprovalPrompt, currentOf } from "../keys/approval-prompt.ts";
import { argumentRows, changeRows, type DetailRow } from "../state/detail-rows.ts";
import { ApprovalHelp } from "./approval-help.ts";
import { DetailView } from "./detail-view.ts";
import { EditorView } from "./editor-view.ts";
import { type Drawn, h } from "./element.ts";
import type { PromptLayout } from "./prompt-layout.ts";

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
