import type { ChatCommands } from "../chat-commands.ts";
import { type Interrupted, interruption } from "../interrupt.ts";
import type { ApprovalPrompt } from "../keys/approval-prompt.ts";
import { type Draft, EMPTY_DRAFT, edited, typed } from "../keys/draft.ts";
import { type Arrival, isOneKey, KeyChunks } from "../keys/key-chunks.ts";
import { KeyGuard } from "../keys/key-guard.ts";
import { EMPTY_HISTORY, type LineHistory, recalled, remembered } from "../keys/line-history.ts";
import { isCtrl, letterOf, type Press } from "../keys/press.ts";
import type { Asker, Asking } from "../screen-person.ts";
import type { ScreenStore } from "../screen-store.ts";
import type { Talk } from "../talk.ts";
import { ApprovalController } from "./approval-controller.ts";
import type { DrawnPrompt } from "./prompt-sight.ts";

interface ControllerParts {
  store: ScreenStore;
  talk: Talk;
  commands: ChatCommands;
  leave(): void;
  /** Empties the terminal's window. */
  wipe(): void;
}

/** What the person is at: never part of the conversation. */
export interface InputState {
  draft: Draft;
  /** A passing word about what was just pressed. */
  flash?: string;
  approval?: ApprovalPrompt;
  /** There is a batch to recover, and the person has not said how. */
  recovering?: true;
  /** Keys count that answer a question. */
  armed: boolean;
  /** Changes when the screen is emptied. */
  generation: number;
}

/** Turns keys into what happens, and keeps what is being written. Knows nothing of how it is painted. */
export class ScreenController implements Asker {
  readonly #parts: ControllerParts;
  readonly #guard = new KeyGuard(() => this.#change({ armed: true }));
  readonly #prompt: ApprovalController;
  readonly #chunks = new KeyChunks((chunk) => this.#take(chunk));
  #input: InputState = { draft: EMPTY_DRAFT, armed: false, generation: 0 };
  #history: LineHistory = EMPTY_HISTORY;
  #interrupted: Interrupted | undefined;
  #outputRows = 8;
  #drawsRecovery = false;
  readonly #watchers = new Set<() => void>();

  constructor(parts: ControllerParts) {
    this.#parts = parts;
    this.#prompt = new ApprovalController({
      guard: this.#guard,
      commands: parts.commands,
      changed: (approval) => this.#approval(approval),
    });
    parts.store.watch(() => this.#noticeRecovery());
    this.#noticeRecovery();
  }

  /** A batch that an earlier process left open has to be dealt with before anything else. */
  #noticeRecovery(): void {
    const { store, talk } = this.#parts;
    const found = store.state.loop.state === "recovery" && !talk.busy;
    if (!found || this.#input.recovering) return;
    this.#guard.reset();
    this.#change({ recovering: true, armed: false });
  }

  get input(): InputState {
    return this.#input;
  }

  watch(watcher: () => void): () => void {
    this.#watchers.add(watcher);
    return () => void this.#watchers.delete(watcher);
  }

  ask(asking: Asking): void {
    this.#without("flash");
    this.#prompt.ask(asking);
  }

  withdrawn(): void {
    this.#prompt.withdraw();
  }

  #approval(approval: ApprovalPrompt | undefined): void {
    if (approval === undefined) this.#without("approval");
    else this.#change({ approval, armed: this.#guard.armed });
  }

  /** The screen is gone. */
  close(): void {
    this.#guard.reset();
  }

  /** How many rows the output of a running call has. */
  showsRows(rows: number): void {
    this.#outputRows = rows;
  }

  /** A question is part of what will be painted next. True when keys that answer it count from the first moment. */
  draws(drawn: DrawnPrompt | "recovery"): boolean {
    if (drawn !== "recovery") return this.#prompt.draws(drawn) && this.#guard.armed;
    this.#drawsRecovery = true;
    return this.#guard.armed;
  }

  /** What was drawn is on the screen. */
  painted(): void {
    if (this.#prompt.isOpen) this.#prompt.painted();
    else if (this.#input.recovering && this.#drawsRecovery) this.#guard.painted();
    // Not at once: this is told in the middle of a painting.
    if (this.#input.armed && !this.#guard.armed)
      queueMicrotask(() => this.#change({ armed: this.#guard.armed }));
  }

  /** A key, or pasted text. */
  arrives(arrival: Arrival): void {
    this.#chunks.add(arrival);
  }

  /** Of a piece with an answer in it, what follows was not meant for whatever comes next. */
  #take(chunk: readonly Arrival[]): void {
    const alone = isOneKey(chunk);
    const asked = this.#prompt.isOpen;
    for (const arrival of chunk) {
      if (asked && !this.#prompt.isOpen) return;
      if (arrival.kind === "paste") this.#paste(arrival.text);
      else this.#press(arrival.press, { alone });
    }
  }

  #press(press: Press, { alone }: { alone: boolean }) {
    if (isCtrl(press, "c")) return this.#interrupt();
    if (this.#prompt.isOpen) return this.#prompt.press(press, { alone });
    if (this.#input.recovering) return this.#recoveryKey(press);
    this.#without("flash");
    if (this.#scrolls(press)) return;
    if (isCtrl(press, "d") && this.#input.draft.text === "") return this.#parts.leave();
    if (press.key === "enter") return this.#enter();
    this.#write(press);
  }

  #paste(text: string) {
    if (this.#prompt.isOpen) return this.#prompt.paste(text);
    if (!this.#input.recovering) this.#change({ draft: typed(this.#input.draft, text) });
  }

  #recoveryKey(press: Press): void {
    if (!this.#guard.counts()) return;
    const letter = letterOf(press);
    if (letter !== "r" && letter !== "d") return;
    const recovered = this.#parts.talk.recover(letter === "r" ? "resume" : "discard");
    this.#without("recovering");
    void recovered.then(() => this.#without("flash"));
  }

  #interrupt() {
    const { talk, leave } = this.#parts;
    const now = { at: Date.now(), begun: talk.begun };
    const empty = this.#input.draft.text === "";
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
    if (this.#input.draft.text !== "") return 0;
    if (isCtrl(press, "u")) return -page;
    if (isCtrl(press, "d")) return page;
    if (press.key === "upArrow") return -1;
    return press.key === "downArrow" ? 1 : 0;
  }

  #write(press: Press) {
    const { draft } = this.#input;
    const next = edited(draft, press);
    if (next !== undefined) return this.#change({ draft: next });
    if (press.key !== "upArrow" && press.key !== "downArrow") return;
    const found = recalled(this.#history, draft, press.key === "upArrow" ? -1 : 1);
    this.#history = found.history;
    this.#change({ draft: found.draft });
  }

  #enter() {
    const { text } = this.#input.draft;
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
    wipe();
    store.take({ kind: "cleared" });
    this.#change({ generation: this.#input.generation + 1 });
  }

  #without(field: "flash" | "approval" | "recovering"): void {
    if (this.#input[field] === undefined) return;
    const { [field]: _, ...rest } = this.#input;
    this.#input = rest;
    this.#change({});
  }

  #change(change: Partial<InputState>): void {
    this.#input = { ...this.#input, ...change };
    for (const watcher of this.#watchers) watcher();
  }
}
