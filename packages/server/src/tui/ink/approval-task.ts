import { Box, Text } from "ink";
import type { ApprovalPrompt, PromptTask } from "../keys/approval-prompt.ts";
import type { Draft } from "../keys/draft.ts";
import { promptHints } from "../keys/prompt-hints.ts";
import { DraftView } from "./draft-view.ts";
import { type Drawn, h, useLook } from "./element.ts";
import { KeyHints } from "./key-hints.ts";
import type { PromptLayout } from "./prompt-layout.ts";
import { scopeRows } from "./task-rows.ts";

const ASKED_WHY = "Why not? ";

interface TaskProps {
  prompt: ApprovalPrompt;
  layout: PromptLayout;
  columns: number;
  armed: boolean;
}

/** Below the prompt: what the person is asked for, and which keys there are. */
export function ApprovalTask({ prompt, layout, columns, armed }: TaskProps): Drawn {
  const { paint } = useLook();
  const { doing, hint } = prompt;
  const problem = doing.task === "edit" ? doing.problem : undefined;
  const width = columns - 2;
  return h(
    Box,
    { flexDirection: "column", paddingX: 1, flexShrink: 0 },
    layout.hint
      ? h(Text, { ...paint(problem ? "bad" : "careful"), wrap: "truncate-end" }, problem ?? hint)
      : null,
    doing.task === "reason" ? h(ReasonLine, { draft: doing.draft, width }) : null,
    doing.task === "scope" ? h(ScopeList, { doing, width, rows: layout.task }) : null,
    h(KeyHints, { hints: promptHints(prompt), width, most: layout.keys, armed }),
  );
}

function ReasonLine({ draft, width }: { draft: Draft; width: number }) {
  const { paint } = useLook();
  return h(
    Box,
    { flexShrink: 0 },
    h(Box, { flexShrink: 0 }, h(Text, paint("careful"), ASKED_WHY)),
    h(DraftView, { draft, width: width - ASKED_WHY.length, height: 1 }),
  );
}

interface ScopesProps {
  doing: Extract<PromptTask, { task: "scope" }>;
  width: number;
  rows: number;
}

/** The scopes, or as many rows of them as there are from the current one on. */
function ScopeList({ doing: { scopes, at }, width, rows }: ScopesProps) {
  const { glyphs, paint } = useLook();
  const all = scopeRows(scopes, width).flatMap((lines, scope) =>
    lines.map((text, line) => ({ text: `${scope === at && line === 0 ? glyphs.here : " "} ${text}`, scope })),
  );
  const headed = rows > all.length;
  const first = all.findIndex(({ scope }) => scope === at);
  const from = Math.max(0, Math.min(first, all.length - rows));
  return h(
    Box,
    { flexDirection: "column", flexShrink: 0 },
    headed
      ? h(Text, { ...paint("careful"), wrap: "truncate-end" }, "Allow from now on, without asking:")
      : null,
    ...all
      .slice(from, from + rows)
      .map(({ text, scope }, index) =>
        h(
          Text,
          { key: from + index, ...paint(scope === at ? "accent" : undefined), wrap: "truncate-end" },
          text,
        ),
      ),
  );
}
