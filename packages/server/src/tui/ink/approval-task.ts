import { Box, Text } from "ink";
import type { ApprovalPrompt, PromptTask } from "../keys/approval-prompt.ts";
import { DraftText } from "./draft-text.ts";
import { h, useLook } from "./element.ts";
import { KeyHints } from "./key-hints.ts";

/** Below the prompt: what the person is asked for, or which keys there are. */
export function ApprovalTask({ prompt }: { prompt: ApprovalPrompt }) {
  const { paint } = useLook();
  const { doing, hint } = prompt;
  return h(
    Box,
    { flexDirection: "column", paddingX: 1 },
    hint === undefined ? null : h(Text, { ...paint("careful"), wrap: "truncate-end" }, hint),
    doing.task === "reason" ? h(ReasonLine, doing) : null,
    doing.task === "scope" ? h(ScopeList, doing) : null,
    doing.task === "edit" && doing.problem !== undefined ? h(Text, paint("bad"), doing.problem) : null,
    h(KeyHints, { keys: keysOf(prompt) }),
  );
}

const KEYS: Record<PromptTask["task"], readonly (readonly [string, string])[]> = {
  choose: [
    ["a", "all"],
    ["d", "deny"],
    ["space", "select"],
    ["e", "edit"],
    ["A", "always"],
    ["p", "changes"],
    ["v", "arguments"],
    ["?", "help"],
  ],
  help: [],
  reason: [
    ["Enter", "deny all"],
    ["Esc", "back"],
  ],
  scope: [
    ["1-9 or Enter", "choose"],
    ["Esc", "back"],
  ],
  edit: [
    ["Ctrl-S", "use these"],
    ["Esc", "back"],
  ],
};

function keysOf({ doing, words, asked }: ApprovalPrompt) {
  if (doing.task !== "choose" || words.size === 0) return KEYS[doing.task];
  const rest = asked.length - words.size;
  const run = `run ${words.size === asked.length ? "" : `${words.size}, deny ${rest}`}`.trim();
  return [["Enter", run] as const, ...KEYS.choose];
}

function ReasonLine({ draft }: Extract<PromptTask, { task: "reason" }>) {
  const { paint } = useLook();
  return h(Box, null, h(Text, paint("careful"), "Why not? (may stay empty) "), h(DraftText, { draft }));
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
