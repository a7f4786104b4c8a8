import type { PersonsWord } from "@sallyport/engine/loop";
import type { JsonValue } from "@sallyport/protocol";
import { cleanLine, visibleJson } from "../state/clean.ts";
import {
  type ApprovalPrompt,
  type AskedQuestion,
  currentOf,
  DEAF_MS,
  type PromptStep,
  type PromptTask,
  type ShownDetail,
} from "./approval-prompt.ts";
import { chooseKey } from "./choose-keys.ts";
import { type Draft, edited, typed } from "./draft.ts";
import { isCtrl, letterOf, type Press } from "./press.ts";

/**
 * A key in the approval prompt. What was pressed before the person can have read it counts for nothing, and one who is
 * in the middle of typing has not read it: the prompt stays deaf until there was silence.
 */
export function promptKey(
  prompt: ApprovalPrompt,
  press: Press,
  { now, shown }: { now: number; shown: ShownDetail },
): PromptStep {
  if (now - prompt.shownAt < DEAF_MS) return same({ ...prompt, shownAt: now });
  const { doing } = prompt;
  switch (doing.task) {
    case "choose":
      return chooseKey(prompt, press, shown);
    case "help":
      return same(choosing(prompt));
    case "reason":
      return reasonKey(prompt, doing.draft, press);
    case "scope":
      return scopeKey(prompt, doing, press);
    case "edit":
      return editKey(prompt, doing.draft, press);
  }
}

/** Pasted text goes into what is being written; it is never an answer. */
export function promptPaste(prompt: ApprovalPrompt, text: string): ApprovalPrompt {
  const { doing } = prompt;
  if (doing.task !== "reason" && doing.task !== "edit") return prompt;
  return { ...prompt, doing: { task: doing.task, draft: typed(doing.draft, text) } };
}

function same(prompt: ApprovalPrompt): PromptStep {
  return { kind: "prompt", prompt };
}

function choosing(prompt: ApprovalPrompt): ApprovalPrompt {
  return { ...prompt, doing: { task: "choose" } };
}

function reasonKey(prompt: ApprovalPrompt, draft: Draft, press: Press): PromptStep {
  if (press.key === "escape") return same(choosing(prompt));
  if (press.key === "enter") {
    const reason = draft.text.trim();
    return { kind: "decided", decision: { kind: "deny_all", ...(reason !== "" && { reason }) } };
  }
  return same({ ...prompt, doing: { task: "reason", draft: edited(draft, press) ?? draft } });
}

function scopeKey(
  prompt: ApprovalPrompt,
  doing: Extract<PromptTask, { task: "scope" }>,
  press: Press,
): PromptStep {
  const { scopes, at } = doing;
  if (press.key === "escape") return same(choosing(prompt));
  const chosen = press.key === "enter" ? at : Number(letterOf(press) || 0) - 1;
  const scope = scopes[chosen];
  if (scope !== undefined) return same(worded(prompt, { kind: "approve", always: scope.always }));
  const letter = letterOf(press);
  const by =
    press.key === "downArrow" || letter === "j" ? 1 : press.key === "upArrow" || letter === "k" ? -1 : 0;
  return same({ ...prompt, doing: { ...doing, at: (at + by + scopes.length) % scopes.length } });
}

function editKey(prompt: ApprovalPrompt, draft: Draft, press: Press): PromptStep {
  if (press.key === "escape") return same(choosing(prompt));
  if (isCtrl(press, "s") || isCtrl(press, "x")) return same(saved(prompt, draft));
  const next = edited(draft, press.key === "enter" ? { ...press, key: "newline" } : press);
  return same({ ...prompt, doing: { task: "edit", draft: next ?? draft } });
}

/** Text that is no JSON stays in the editor, with what is wrong beside it. */
function saved(prompt: ApprovalPrompt, draft: Draft): ApprovalPrompt {
  const input = parsed(draft.text);
  if ("problem" in input) return { ...prompt, doing: { task: "edit", draft, problem: input.problem } };
  return worded(prompt, { kind: "edit", input: input.value });
}

function parsed(text: string): { value: JsonValue } | { problem: string } {
  try {
    return { value: JSON.parse(text) };
  } catch (error) {
    const why = error instanceof Error ? error.message : "it cannot be read";
    return { problem: `Not JSON: ${cleanLine(why)}` };
  }
}

/** The current question gets this word; the person goes on choosing. */
function worded(prompt: ApprovalPrompt, word: PersonsWord): ApprovalPrompt {
  const current = currentOf(prompt);
  if (current === undefined) return choosing(prompt);
  const words = new Map(prompt.words).set(current.raw.index, word);
  if (word.kind !== "edit") {
    return { ...choosing(prompt), words, hint: "Selected, and allowed from now on. Enter runs it." };
  }
  const asked = prompt.asked.map((one) => (one === current ? withInput(one, word.input) : one));
  const hint = "Edited. Enter runs it with these arguments.";
  return { ...choosing(prompt), words, asked, hint, view: "arguments", scroll: 0 };
}

/** The preview was of the old arguments, and nobody knows what these would change. */
function withInput(asked: AskedQuestion, input: JsonValue): AskedQuestion {
  const { preview: _, ...question } = asked.question;
  return { ...asked, question, editable: visibleJson(input, 2) };
}
