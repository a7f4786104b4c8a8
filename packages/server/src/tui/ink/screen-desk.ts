import type { ApprovalDecision } from "@sallyport/engine/loop";
import type { ChatCommands } from "../chat-commands.ts";
import { type Interrupted, interruption } from "../interrupt.ts";
import { type ApprovalPrompt, approvalPrompt, DEAF_MS, type ShownDetail } from "../keys/approval-prompt.ts";
import { askedQuestions } from "../keys/asked-questions.ts";
import { type Draft, EMPTY_DRAFT, edited, typed } from "../keys/draft.ts";
import { EMPTY_HISTORY, type LineHistory, recalled, remembered } from "../keys/line-history.ts";
import { isCtrl, letterOf, type Press } from "../keys/press.ts";
import { promptKey, promptPaste } from "../keys/prompt-keys.ts";
import type { Asker, Asking } from "../screen-person.ts";
import type { ScreenStore } from "../screen-store.ts";
import type { Talk } from "../talk.ts";

interface DeskParts {
  store: ScreenStore;
  talk: Talk;
  commands: ChatCommands;
  leave(): void;
  /** Empties the terminal's window. */
  wipe(): void;
}

/** What the person is at: never part of the conversation. */
export interface Desk {
  draft: Draft;
  /** A passing word about what was just pressed. */
  flash?: string;
  approval?: ApprovalPrompt;
  /** When the recovery prompt came up; absent without one, or once it is answered. */
  recoverySince?: number;
  /** Changes when the screen is emptied. */
  generation: number;
}

/** Turns keys into what happens, and keeps what is being written. Knows nothing of how it is painted. */
export class ScreenDesk implements Asker {
  readonly #parts: DeskParts;
  #desk: Desk = { draft: EMPTY_DRAFT, generation: 0 };
  #history: LineHistory = EMPTY_HISTORY;
  #answer: ((decision: ApprovalDecision) => void) | undefined;
  #interrupted: Interrupted | undefined;
  #outputRows = 8;
  #detail: ShownDetail = { page: 8, most: 0 };
  readonly #watchers = new Set<() => void>();

  constructor(parts: DeskParts) {
    this.#parts = parts;
    parts.store.watch(() => this.#noticeRecovery());
    this.#noticeRecovery();
  }

  /** A batch that an earlier process left open has to be dealt with before anything else. */
  #noticeRecovery(): void {
    const { store, talk } = this.#parts;
    const found = store.state.loop.state === "recovery" && !talk.busy;
    if (found && this.#desk.recoverySince === undefined) this.#change({ recoverySince: Date.now() });
  }

  get desk(): Desk {
    return this.#desk;
  }

  watch(watcher: () => void): () => void {
    this.#watchers.add(watcher);
    return () => void this.#watchers.delete(watcher);
  }

  ask({ questions, refusals, answer }: Asking): void {
    this.#answer = answer;
    const asked = askedQuestions(questions, { refusals, commands: this.#parts.commands });
    this.#without("flash");
    this.#change({ approval: approvalPrompt(asked, Date.now()) });
  }

  withdrawn(): void {
    this.#answer = undefined;
    this.#without("approval");
  }

  /** How many rows the output of a running call has. */
  showsRows(rows: number): void {
    this.#outputRows = rows;
  }

  /** How much of what a question is about can be seen. */
  showsDetail(detail: ShownDetail): void {
    this.#detail = detail;
  }

  press(press: Press) {
    if (isCtrl(press, "c")) return this.#interrupt();
    const { approval, recoverySince } = this.#desk;
    if (approval !== undefined) return this.#promptKey(approval, press);
    if (recoverySince !== undefined) return this.#recoveryKey(recoverySince, press);
    this.#without("flash");
    if (this.#scrolls(press)) return;
    if (isCtrl(press, "d") && this.#desk.draft.text === "") return this.#parts.leave();
    if (press.key === "enter") return this.#enter();
    this.#write(press);
  }

  paste(text: string) {
    const { approval, recoverySince, draft } = this.#desk;
    if (approval !== undefined) return this.#change({ approval: promptPaste(approval, text) });
    if (recoverySince === undefined) this.#change({ draft: typed(draft, text) });
  }

  #promptKey(approval: ApprovalPrompt, press: Press) {
    const step = promptKey(approval, press, { now: Date.now(), shown: this.#detail });
    if (step.kind === "prompt") return this.#change({ approval: step.prompt });
    const answer = this.#answer;
    this.withdrawn();
    answer?.(step.decision);
  }

  #recoveryKey(since: number, press: Press): void {
    if (Date.now() - since < DEAF_MS) return;
    const letter = letterOf(press);
    if (letter !== "r" && letter !== "d") return;
    const recovered = this.#parts.talk.recover(letter === "r" ? "resume" : "discard");
    this.#without("recoverySince");
    void recovered.then(() => this.#without("flash"));
  }

  #interrupt() {
    const { talk, leave } = this.#parts;
    const now = { at: Date.now(), begun: talk.begun };
    const empty = this.#desk.draft.text === "";
    const meant = interruption(now, {
      last: this.#interrupted,
      busy: talk.canBeStopped,
      empty,
      endedAt: talk.endedAt,
    });
    if (meant === "leave") return leave();
    this.#interrupted = now;
    if (meant === "clear") return this.#change({ draft: EMPTY_DRAFT, flash: "Ctrl-C again leaves." });
    this.#change({ flash: "Stopping… Ctrl-C again leaves." });
    talk.cancel();
  }

  #scrolls(press: Press): boolean {
    const by = this.#scrollBy(press);
    const { store } = this.#parts;
    if (by === 0 || store.state.output === undefined) return false;
    store.take({ kind: "scrolled", by, height: this.#outputRows });
    return true;
  }

  /** Arrows and Ctrl-U/D scroll only while nothing is being written. */
  #scrollBy(press: Press): number {
    const page = Math.max(1, this.#outputRows - 1);
    if (press.key === "pageUp") return -page;
    if (press.key === "pageDown") return page;
    if (this.#desk.draft.text !== "") return 0;
    if (isCtrl(press, "u")) return -page;
    if (isCtrl(press, "d")) return page;
    if (press.key === "upArrow") return -1;
    return press.key === "downArrow" ? 1 : 0;
  }

  #write(press: Press) {
    const { draft } = this.#desk;
    const next = edited(draft, press);
    if (next !== undefined) return this.#change({ draft: next });
    if (press.key !== "upArrow" && press.key !== "downArrow") return;
    const found = recalled(this.#history, draft, press.key === "upArrow" ? -1 : 1);
    this.#history = found.history;
    this.#change({ draft: found.draft });
  }

  #enter() {
    const { text } = this.#desk.draft;
    if (text.endsWith("\\")) {
      const draft = typed({ text: text.slice(0, -1), cursor: text.length - 1 }, "\n");
      return this.#change({ draft });
    }
    void this.#entered(text);
  }

  async #entered(text: string) {
    const { talk } = this.#parts;
    if (talk.busy && !text.trimStart().startsWith("/")) {
      return this.#change({ flash: "Still at work; your text stays. Ctrl-C stops." });
    }
    if (text.trim() !== "") this.#history = remembered(this.#history, text);
    this.#change({ draft: EMPTY_DRAFT });
    const after = await talk.enter(text);
    if (after === "leave") return this.#parts.leave();
    if (after === "clear") this.#clear();
    else this.#without("flash");
  }

  #clear(): void {
    const { store, wipe } = this.#parts;
    store.take({ kind: "cleared" });
    this.#change({ generation: this.#desk.generation + 1 });
    wipe();
  }

  #without(field: "flash" | "approval" | "recoverySince"): void {
    if (this.#desk[field] === undefined) return;
    const { [field]: _, ...rest } = this.#desk;
    this.#desk = rest;
    this.#change({});
  }

  #change(change: Partial<Desk>): void {
    this.#desk = { ...this.#desk, ...change };
    for (const watcher of this.#watchers) watcher();
  }
}
