import type { ConversationDoor, TurnEnd } from "@sallyport/loop";
import { type Failure, isFailure } from "@sallyport/protocol";
import type { ChatCommands } from "./chat-commands.ts";
import { type CommandName, type Entered, parseEntered } from "./commands/parse-entered.ts";
import { parseResult } from "./commands/parse-result.ts";
import { answerCommand, offeredCommands, unknownCommand } from "./commands/run-command.ts";
import type { ScreenStore } from "./screen-store.ts";
import type { Entry } from "./state/screen-state.ts";

/** How long a turn may take to end once it is cancelled and the person leaves. */
const STOP_MS = 5_000;

interface TalkParts {
  door: ConversationDoor;
  store: ScreenStore;
  commands: ChatCommands;
  /** The conversation broke its word, which is a defect. */
  broke(error: unknown): void;
}

/** What is to be done after a line was entered, besides what was done. */
export type AfterEntry = "stay" | "leave" | "clear" | "kept";

/** What a person does with a conversation, whatever the front end. */
export class Talk {
  readonly #parts: TalkParts;
  readonly #offered: readonly CommandName[];
  #underWay = 0;
  #begun = 0;
  #endedAt: number | undefined;
  #latest: Promise<void> = Promise.resolve();

  constructor(parts: TalkParts) {
    this.#parts = parts;
    this.#offered = offeredCommands(parts.commands);
  }

  get busy(): boolean {
    return this.#underWay > 0;
  }

  /** True when there is something that Ctrl-C can end: a turn, or waiting for results by hand. */
  get canBeStopped(): boolean {
    return this.busy || this.#parts.door.state.state === "awaiting_results";
  }

  /** When the last turn ended. */
  get endedAt(): number | undefined {
    return this.#endedAt;
  }

  /** How many turns were begun. */
  get begun(): number {
    return this.#begun;
  }

  /** Resolves once the line is dealt with; a turn it begins is waited for. `kept`: not now, the line is not lost. */
  async enter(line: string): Promise<AfterEntry> {
    const entered = parseEntered(line, this.#offered);
    if (entered.kind === "nothing") return "stay";
    if (entered.kind === "unknown") return this.#show(unknownCommand(entered));
    if (entered.kind === "command") return await this.#command(entered);
    if (this.busy) return "kept";
    this.#parts.store.take({ kind: "said", text: entered.text });
    await this.#turn(() => this.#parts.door.send(entered.text));
    return "stay";
  }

  /** After a crash (FR-RES-05). */
  async recover(choice: "resume" | "discard"): Promise<void> {
    await this.#turn(() => this.#parts.door.recover(choice));
  }

  cancel(): void {
    this.#parts.door.cancel();
  }

  /**
   * Stops what is under way, and waits a while for it to end. Calls that wait for results go on waiting: the conversation
   * can be taken up again.
   */
  async stop(): Promise<void> {
    if (this.#parts.door.state.state !== "awaiting_results") this.cancel();
    const patience = Promise.withResolvers<void>();
    const timer = setTimeout(patience.resolve, STOP_MS);
    await Promise.race([this.#latest, patience.promise]);
    clearTimeout(timer);
  }

  async #command(entered: Extract<Entered, { kind: "command" }>): Promise<AfterEntry> {
    if (entered.name === "quit") return "leave";
    if (entered.name === "clear") return "clear";
    if (entered.name === "tool") return await this.#result(entered.rest);
    return this.#show(await answerCommand(entered, this.#parts.commands));
  }

  async #result(rest: string): Promise<AfterEntry> {
    const { door } = this.#parts;
    const given = parseResult(rest, door.state.state === "awaiting_results" ? door.state.calls : []);
    if ("problem" in given) return this.#show({ kind: "notice", level: "warning", text: given.problem });
    const { id, ...result } = given;
    await this.#turn(() => door.submit(id, result));
    return "stay";
  }

  #show(entry: Entry): AfterEntry {
    this.#parts.store.take({ kind: "entries", entries: [entry] });
    return "stay";
  }

  #turn(begin: () => Promise<TurnEnd | Failure>): Promise<void> {
    this.#latest = this.#whole(begin);
    return this.#latest;
  }

  async #whole(begin: () => Promise<TurnEnd | Failure>): Promise<void> {
    const { store, broke } = this.#parts;
    this.#underWay += 1;
    this.#begun += 1;
    try {
      const end = await begin();
      store.take({ kind: "ended", end: isFailure(end) ? { kind: "failed", error: end } : end });
    } catch (error) {
      broke(error);
    } finally {
      this.#underWay -= 1;
      this.#endedAt = Date.now();
    }
  }
}
