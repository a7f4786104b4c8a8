import { Text } from "ink";
import { useMemo } from "react";
import { type ApprovalPrompt, currentOf, type ShownDetail } from "../keys/approval-prompt.ts";
import { argumentRows, changeRows, type DetailRow } from "../state/detail-rows.ts";
import { DetailView } from "./detail-view.ts";
import { EditorView } from "./editor-view.ts";
import { type Drawn, h, useLook } from "./element.ts";

interface DetailProps {
  prompt: ApprovalPrompt;
  width: number;
  height: number;
  showsDetail: (detail: ShownDetail) => void;
}

/** What the current question is about: the changes, the arguments, or the arguments being edited. */
export function QuestionDetail({ prompt, width, height, showsDetail }: DetailProps): Drawn {
  const { paint, glyphs } = useLook();
  const current = currentOf(prompt);
  const { view, doing } = prompt;
  const rows = useMemo(() => rowsOf(current, view, width), [current, view, width]);
  showsDetail({ page: Math.max(1, height - 1), most: Math.max(0, rows.length - height + 1) });
  if (doing.task === "edit") return h(EditorView, { draft: doing.draft, width, height });
  if (view === "nothing") return null;
  const title = view === "changes" ? "What would change" : "Arguments";
  const line = `${glyphs.rule.repeat(2)} ${title} `;
  return [
    h(
      Text,
      { key: "title", ...paint("faint"), wrap: "truncate-end" },
      line + glyphs.rule.repeat(Math.max(0, width - line.length)),
    ),
    h(DetailView, { key: "rows", rows, height, scroll: prompt.scroll }),
  ];
}

function rowsOf(
  current: ReturnType<typeof currentOf>,
  view: ApprovalPrompt["view"],
  width: number,
): DetailRow[] {
  if (current === undefined) return [];
  if (view === "arguments") return argumentRows(current.editable, width);
  const { preview } = current.question;
  if (preview === undefined)
    return [{ text: "It cannot be told beforehand what this would change.", tone: "careful" }];
  return changeRows(preview, width);
}
