import type { ToolResultTurn, ToolUseTurn, Turn } from "../ports/conversations.ts";

/** A turn in which the model speaks. */
export type AnswerTurn = Extract<Turn, { kind: "assistant" | "reasoning" | "tool_use" }>;

/** A call with its result, where there is one. */
export interface Use {
  turn: ToolUseTurn;
  /** Unique in the history. */
  id: string;
  result?: ToolResultTurn;
}

/** What was said in one go, by one side. Person and model need not alternate where tools come between. */
export type TurnGroup =
  | { kind: "user"; texts: string[] }
  | { kind: "answer"; turns: AnswerTurn[]; uses: Use[] };

/**
 * Puts a history into messages. A result goes to the latest answer that made a call of its id, the first of several
 * calls first; one that belongs to no call is left out, and so is what is empty. An answer is over when the person
 * speaks or its first result comes.
 */
export function groupTurns(turns: readonly Turn[]): TurnGroup[] {
  const grouping = new Grouping();
  for (const turn of turns) grouping.add(turn);
  return grouping.groups;
}

type Answer = Extract<TurnGroup, { kind: "answer" }>;

class Grouping {
  readonly groups: TurnGroup[] = [];
  readonly #ids = new Set<string>();
  /** How far an id has been counted on, so that one that occurs often is not counted from the start each time. */
  readonly #counted = new Map<string, number>();
  /** By the model's own id: the latest answer with such a call. */
  readonly #latest = new Map<string, Answer>();
  #isOver = false;

  add(turn: Turn): void {
    if (turn.kind === "user") this.#user(turn.text);
    else if (turn.kind === "tool_result") this.#result(turn);
    else this.#answer(turn);
  }

  #user(text: string): void {
    if (text === "") return;
    const last = this.groups.at(-1);
    if (last?.kind === "user") last.texts.push(text);
    else this.groups.push({ kind: "user", texts: [text] });
  }

  #answer(turn: AnswerTurn): void {
    if (turn.kind !== "tool_use" && turn.text === "" && turn.meta === undefined) return;
    const answer = this.#openAnswer();
    answer.turns.push(turn);
    if (turn.kind !== "tool_use") return;
    answer.uses.push({ turn, id: this.#uniqueId(turn.id) });
    this.#latest.set(turn.id, answer);
  }

  #openAnswer(): Answer {
    const last = this.groups.at(-1);
    if (last?.kind === "answer" && !this.#isOver) return last;
    const fresh: Answer = { kind: "answer", turns: [], uses: [] };
    this.groups.push(fresh);
    this.#isOver = false;
    return fresh;
  }

  #result(result: ToolResultTurn): void {
    const answer = this.#latest.get(result.id);
    const use = answer?.uses.find((one) => one.turn.id === result.id && !one.result);
    if (!use) return;
    use.result = result;
    if (answer === this.groups.at(-1)) this.#isOver = true;
  }

  /** Providers refuse an id that occurs twice, or that has other characters than these. */
  #uniqueId(id: string): string {
    const base = id.replaceAll(/[^A-Za-z0-9_-]/g, "_") || "call";
    let unique = base;
    let count = this.#counted.get(base) ?? 1;
    while (this.#ids.has(unique)) {
      count += 1;
      unique = `${base}_${count}`;
    }
    this.#counted.set(base, count);
    this.#ids.add(unique);
    return unique;
  }
}
