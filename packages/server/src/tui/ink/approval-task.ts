import { Box, Text } from "ink";
import type { ApprovalPrompt, PromptTask } from "../keys/approval-prompt.ts";
import type { Draft } from "../keys/draft.ts";
import { promptHints } from "../keys/prompt-hints.ts";
import { DraftView } from "./draft-view.ts";
import { type Drawn, h, useLook } from "./element.ts";
import { KeyHints } from "./key-hints.ts";

/** Below the prompt: what the person is asked for, and which keys there are. */
export function ApprovalTask({ prompt, columns }: { prompt: ApprovalPrompt; columns: number }): Drawn {
  const { paint } = useLook();
  const { doing, hint } = prompt;
  const problem = doing.task === "edit" ? doing.problem : undefined;
  return h(
    Box,
    { flexDirection: "column", paddingX: 1 },
    hint === undefined ? null : h(Text, { ...paint("careful"), wrap: "truncate-end" }, hint),
    doing.task === "reason" ? h(ReasonLine, { draft: doing.draft, columns }) : null,
    doing.task === "scope" ? h(ScopeList, doing) : null,
    problem === undefined ? null : h(Text, { ...paint("bad"), wrap: "truncate-end" }, problem),
    h(KeyHints, { hints: promptHints(prompt), width: columns - 2 }),
  );
}

function ReasonLine({ draft, columns }: { draft: Draft; columns: number }) {
  const { paint } = useLook();
  return h(
    Box,
    null,
    h(Box, { flexShrink: 0 }, h(Text, paint("careful"), "Why not? ")),
    h(DraftView, { draft, width: columns - 12, height: 1 }),
  );
}

function ScopeList({ scopes, at }: Extract<PromptTask, { task: "scope" }>) {
  const { glyphs, paint } = useLook();
  return h(
    Box,
    { flexDirection: "column" },
    h(Text, paint("careful"), "Allow from now on, without asking:"),
    ...scopes.map(({ label }, index) =>
      h(
        Text,
        { key: label, ...paint(index === at ? "accent" : undefined), wrap: "truncate-end" },
        `${index === at ? glyphs.here : " "} ${index + 1} ${label}`,
      ),
    ),
  );
}
