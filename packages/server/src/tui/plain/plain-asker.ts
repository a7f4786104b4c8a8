import type { ApprovalDecision, PersonDecision } from "@sallyport/loop";
import type { ChatCommands } from "../chat-commands.ts";
import type { AskedQuestion } from "../keys/approval-prompt.ts";
import { askedQuestions } from "../keys/asked-questions.ts";
import type { Asker, Asking } from "../screen-person.ts";
import { askQuestion, type Dialogue } from "./ask-question.ts";

interface AskerParts extends Omit<Dialogue, "signal"> {
  commands: ChatCommands;
}

/** Asks line by line (FR-TUI-01 in plain mode). */
export class PlainAsker implements Asker {
  readonly #parts: AskerParts;
  #asking: AbortController | undefined;

  constructor(parts: AskerParts) {
    this.#parts = parts;
  }

  ask({ questions, refusals, answer }: Asking): void {
    const asked = askedQuestions(questions, { refusals, commands: this.#parts.commands });
    const asking = new AbortController();
    this.#asking = asking;
    void this.#each(asked, asking.signal).then(answer);
  }

  withdrawn(): void {
    this.#asking?.abort();
    this.#asking = undefined;
  }

  /** One question after the other; "all" answers for the rest too. */
  async #each(asked: readonly AskedQuestion[], signal: AbortSignal): Promise<ApprovalDecision> {
    const words = new Map<number, PersonDecision>();
    await this.#parts.reader.forget();
    const all = asked.map(({ question: { name, risk } }) => `${name} (${risk} risk)`).join(", ");
    this.#parts.say(`Approval needed for ${asked.length} ${asked.length === 1 ? "call" : "calls"}: ${all}.`);
    for (const [at, one] of asked.entries()) {
      const place = asked.length === 1 ? "" : `${at + 1} of ${asked.length}: `;
      const word = await askQuestion(one, place, { ...this.#parts, signal });
      if (word.kind === "rest") {
        for (const { raw } of asked.slice(at)) words.set(raw.index, word.word);
        break;
      }
      words.set(one.raw.index, word);
    }
    return { kind: "each", words };
  }
}
