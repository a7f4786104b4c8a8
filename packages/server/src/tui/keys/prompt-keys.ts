import type { PersonDecision } from "@sallyport/loop";
import type { JsonValue } from "@sallyport/protocol";
import { cleanLine, visibleJson } from "../state/clean.ts";
import {
  type ApprovalPrompt,
  type AskedQuestion,
  currentOf,
  type PressedAt,
  type PromptStep,
  type PromptTask,
} from "./approval-prompt.ts";
import { chooseKey, TOGETHER } from "./choose-keys.ts";
import { type Draft, edited, typed } from "./draft.ts";
import { isCtrl, letterOf, type Press } from "./press.ts";

/** A key in the approval prompt that counts (`KeyGuard`). Where the question cannot be shown it can only be denied. */
export function promptKey(prompt: ApprovalPrompt, press: Press, at: PressedAt): PromptStep {
  const { doing } = prompt;
  if (!at.shown.fits) return crampedKey(prompt, press);
  switch (doing.task) {
    case "choose":
      return chooseKey(prompt, press, at);
    case "help":
      return same(choosing(prompt));
    case "reason":
      return reasonKey(prompt, doing.draft, press);
    case "scope":
      return scopeKey({ ...prompt, doing }, press, at);
    case "edit":
      return editKey({ ...prompt, doing }, press, at);
  }
}

function crampedKey(prompt: ApprovalPrompt, press: Press): PromptStep {
  const denies = press.key === "escape" || letterOf(press) === "d";
  if (prompt.doing.task === "choose" && denies) return { kind: "decided", decision: { kind: "deny_all" } };
  return same(press.key === "escape" ? choosing(prompt) : prompt);
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

type While<T extends PromptTask["task"]> = ApprovalPrompt & { doing: Extract<PromptTask, { task: T }> };

function scopeKey(prompt: While<"scope">, press: Press, { alone, shown }: PressedAt): PromptStep {
  const { hint: _, ...calm } = prompt;
  const { scopes, at } = prompt.doing;
  if (press.key === "escape") return same(choosing(calm));
  const letter = letterOf(press);
  const numbered = shown.scopes === "all" ? scopes[Number(letter || 0) - 1] : undefined;
  const chosen = press.key === "enter" ? scopes[at] : numbered;
  const scope = shown.scopes === "none" ? undefined : chosen;
  if (scope !== undefined && !alone) return same({ ...prompt, hint: TOGETHER });
  if (scope !== undefined) return same(worded(calm, { kind: "approve", always: scope.always }));
  const by =
    press.key === "downArrow" || letter === "j" ? 1 : press.key === "upArrow" || letter === "k" ? -1 : 0;
  return same({ ...calm, doing: { ...prompt.doing, at: (at + by + scopes.length) % scopes.length } });
}

function editKey(prompt: While<"edit">, press: Press, { alone }: PressedAt): PromptStep {
  const { draft } = prompt.doing;
  if (press.key === "escape") return same(choosing(prompt));
  if (isCtrl(press, "s") || isCtrl(press, "x")) {
    return same(alone ? saved(prompt, draft) : { ...prompt, doing: { ...prompt.doing, problem: TOGETHER } });
  }
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
function worded(prompt: ApprovalPrompt, word: PersonDecision): ApprovalPrompt {
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
