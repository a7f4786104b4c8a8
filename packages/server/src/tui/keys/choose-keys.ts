import {
  type ApprovalPrompt,
  allOf,
  currentOf,
  decisionOf,
  type PressedAt,
  type PromptStep,
  type PromptView,
  type ShownPrompt,
  viewFor,
} from "./approval-prompt.ts";
import { draftOf, EMPTY_DRAFT } from "./draft.ts";
import { isCtrl, letterOf, type Press } from "./press.ts";

/** What is said of a key that approves and did not come by itself. */
export const TOGETHER = "Keys that come together approve nothing: press it by itself.";

/** A key while the person chooses. Whatever approves something counts only by itself; moving and denying always. */
export function chooseKey(prompt: ApprovalPrompt, press: Press, { shown, alone }: PressedAt): PromptStep {
  const { hint: _, ...calm } = prompt;
  if (press.key === "escape") return { kind: "decided", decision: { kind: "deny_all" } };
  if (!alone && approves(press)) return { kind: "prompt", prompt: { ...calm, hint: TOGETHER } };
  if (press.key === "enter") return finished(calm);
  const letter = letterOf(press);
  if (letter === "a") return all(calm, shown);
  return {
    kind: "prompt",
    prompt: scrolling(calm, press, shown) ?? moving(calm, press) ?? lettered(calm, letter),
  };
}

function approves(press: Press): boolean {
  const letter = letterOf(press);
  return press.key === "enter" || (letter !== "" && "aAx ".includes(letter));
}

/** Nothing is approved that was never on the screen. */
function all(prompt: ApprovalPrompt, { unseen }: ShownPrompt): PromptStep {
  if (unseen === 0) return { kind: "decided", decision: allOf(prompt) };
  const calls = unseen === 1 ? "1 call was" : `${unseen} calls were`;
  return { kind: "prompt", prompt: { ...prompt, hint: `${calls} not shown yet: j goes on to the next.` } };
}

/** Enter alone approves nothing. */
function finished(prompt: ApprovalPrompt): PromptStep {
  if (prompt.words.size > 0) return { kind: "decided", decision: decisionOf(prompt) };
  const hint = "Nothing is selected. Space selects, a approves all, d denies all.";
  return { kind: "prompt", prompt: { ...prompt, hint } };
}

function scrolling(
  prompt: ApprovalPrompt,
  press: Press,
  { page, most }: ShownPrompt,
): ApprovalPrompt | undefined {
  const by = scrollBy(press, page);
  return by === 0 ? undefined : { ...prompt, scroll: Math.max(0, Math.min(most, prompt.scroll) + by) };
}

function scrollBy(press: Press, page: number): number {
  if (press.key === "pageDown" || isCtrl(press, "d")) return page;
  if (press.key === "pageUp" || isCtrl(press, "u")) return -page;
  const letter = letterOf(press);
  if (letter === "J") return 1;
  return letter === "K" ? -1 : 0;
}

function moving(prompt: ApprovalPrompt, press: Press): ApprovalPrompt | undefined {
  const letter = letterOf(press);
  const down = press.key === "downArrow" || letter === "j" || press.key === "tab";
  const up = press.key === "upArrow" || letter === "k";
  if (!down && !up) return undefined;
  const count = prompt.asked.length;
  const at = (prompt.at + (down ? 1 : count - 1)) % count;
  return at === prompt.at ? prompt : { ...prompt, at, scroll: 0, view: viewFor(prompt.asked[at]) };
}

function lettered(prompt: ApprovalPrompt, letter: string): ApprovalPrompt {
  const current = currentOf(prompt);
  if (current === undefined) return prompt;
  if (letter === " " || letter === "x") return toggled(prompt, current.raw.index);
  if (letter === "d") return { ...prompt, doing: { task: "reason", draft: EMPTY_DRAFT } };
  if (letter === "e") return { ...prompt, doing: { task: "edit", draft: startOf(current.editable) } };
  if (letter === "A") return always(prompt);
  if (letter === "p") return viewing(prompt, "changes");
  if (letter === "v") return viewing(prompt, "arguments");
  return letter === "?" ? { ...prompt, doing: { task: "help" } } : prompt;
}

function startOf(text: string) {
  return { ...draftOf(text), cursor: 0 };
}

function toggled(prompt: ApprovalPrompt, index: number): ApprovalPrompt {
  const words = new Map(prompt.words);
  if (!words.delete(index)) words.set(index, { kind: "approve" });
  return { ...prompt, words };
}

function viewing(prompt: ApprovalPrompt, view: PromptView): ApprovalPrompt {
  return { ...prompt, scroll: 0, view: prompt.view === view ? "nothing" : view };
}

function always(prompt: ApprovalPrompt): ApprovalPrompt {
  const current = currentOf(prompt);
  const scopes = current?.scopes ?? [];
  if (scopes.length > 0) return { ...prompt, doing: { task: "scope", at: 0, scopes } };
  const every = current?.question.because === "tool";
  const hint = every ? "This tool asks about every call." : "This cannot be allowed beforehand.";
  return { ...prompt, hint };
}
