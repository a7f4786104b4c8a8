import type { ApprovalDecision, Person, Question } from "@sallyport/loop";
import type { Failure, JsonValue } from "@sallyport/protocol";

/** Questions that wait for an answer. */
export interface Asking {
  questions: readonly Question[];
  /** By the question's index: why the last edit could not be used, and what it was. */
  refusals: ReadonlyMap<number, { error: Failure; input?: JsonValue }>;
  /** The first answer counts. */
  answer(decision: ApprovalDecision): void;
}

/** Shows questions to the person; `withdrawn` when nobody wants an answer any more. */
export interface Asker {
  ask(asking: Asking): void;
  withdrawn(): void;
}

/** The person at the screen. Before a screen is there, and after it is gone, everything is denied. */
export class ScreenPerson implements Person {
  #asker: Asker | undefined;
  #refusals = new Map<number, { error: Failure; input?: JsonValue }>();
  #edits = new Map<number, JsonValue>();

  /** From now on this front end asks. Returns how to stop. */
  attach(asker: Asker): () => void {
    this.#asker = asker;
    return () => {
      if (this.#asker === asker) this.#asker = undefined;
    };
  }

  async decide(questions: readonly Question[], signal: AbortSignal): Promise<ApprovalDecision> {
    const asker = this.#asker;
    const refusals = this.#refusals;
    this.#refusals = new Map();
    if (asker === undefined || signal.aborted) return { kind: "deny_all" };
    const decision = await new Promise<ApprovalDecision>((resolve) => {
      const withdraw = () => {
        asker.withdrawn();
        resolve({ kind: "deny_all" });
      };
      signal.addEventListener("abort", withdraw, { once: true });
      const answer = (given: ApprovalDecision) => {
        signal.removeEventListener("abort", withdraw);
        resolve(given);
      };
      asker.ask({ questions, refusals, answer });
    });
    this.#edits = editsOf(decision);
    return decision;
  }

  refused({ index }: Question, error: Failure): void {
    const input = this.#edits.get(index);
    this.#refusals.set(index, { error, ...(input !== undefined && { input }) });
  }
}

function editsOf(decision: ApprovalDecision): Map<number, JsonValue> {
  if (decision.kind !== "each") return new Map();
  return new Map(
    [...decision.words].flatMap(([index, word]) => (word.kind === "edit" ? [[index, word.input]] : [])),
  );
}
