import type { ApprovalDecision } from "@sallyport/loop";
import type { ChatCommands } from "../chat-commands.ts";
import { type ApprovalPrompt, approvalPrompt, isWriting } from "../keys/approval-prompt.ts";
import { askedQuestions } from "../keys/asked-questions.ts";
import type { KeyGuard } from "../keys/key-guard.ts";
import { firstKey, type Press } from "../keys/press.ts";
import { promptKey, promptPaste } from "../keys/prompt-keys.ts";
import type { Asking } from "../screen-person.ts";
import { type DrawnPrompt, PromptSight } from "./prompt-sight.ts";

interface PromptParts {
  guard: KeyGuard;
  commands: Pick<ChatCommands, "standingScopes">;
  /** Told of every new prompt; undefined when there is none any more. */
  changed(prompt: ApprovalPrompt | undefined): void;
}

/** The approval prompt at hand: takes its keys, and gives the answer. */
export class ApprovalController {
  readonly #parts: PromptParts;
  readonly #sight: PromptSight;
  #prompt: ApprovalPrompt | undefined;
  #answer: ((decision: ApprovalDecision) => void) | undefined;

  constructor(parts: PromptParts) {
    this.#parts = parts;
    this.#sight = new PromptSight(parts.guard);
  }

  get isOpen(): boolean {
    return this.#prompt !== undefined;
  }

  ask({ questions, refusals, answer }: Asking): void {
    this.#answer = answer;
    this.#sight.reset();
    this.#show(approvalPrompt(askedQuestions(questions, { refusals, commands: this.#parts.commands })));
  }

  withdraw(): void {
    if (this.#prompt === undefined) return;
    this.#answer = undefined;
    this.#sight.reset();
    this.#show(undefined);
  }

  draws(drawn: DrawnPrompt): boolean {
    return this.#sight.draws(drawn);
  }

  painted(): void {
    if (this.isOpen) this.#sight.painted();
  }

  /** What came in one piece may be several keys; those behind an answer are for nobody. */
  press(press: Press, { alone }: { alone: boolean }): void {
    if (!this.#parts.guard.counts()) return;
    let prompt = this.#prompt;
    let left: Press | undefined = press;
    while (prompt !== undefined && left !== undefined) {
      const [key, rest] = firstKey(left, { writing: isWriting(prompt) });
      const step = promptKey(prompt, key, { shown: this.#sight.shown(prompt.asked.length), alone });
      if (step.kind === "decided") {
        this.#decide(step.decision);
        return;
      }
      prompt = step.prompt;
      left = rest;
    }
    this.#show(prompt);
  }

  /** Pasted text can be a reason or arguments, never an answer. */
  paste(text: string): void {
    if (this.#prompt === undefined || !this.#parts.guard.counts()) return;
    this.#show(promptPaste(this.#prompt, text));
  }

  #decide(decision: ApprovalDecision): void {
    const answer = this.#answer;
    this.withdraw();
    answer?.(decision);
  }

  #show(prompt: ApprovalPrompt | undefined): void {
    this.#prompt = prompt;
    this.#parts.changed(prompt);
  }
}
