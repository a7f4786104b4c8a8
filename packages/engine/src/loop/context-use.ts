import type { Turn } from "../ports/conversations.ts";
import { capacityBytes, estimateTokens, historyTokens } from "./capacity.ts";
import { type FittedHistory, fitHistory } from "./fit-history.ts";
import { BYTES_PER_TOKEN, type ModelWindow } from "./loop-settings.ts";
import type { ModelAnswer } from "./model-answer.ts";

/** Whatever a model says of its tokens, they are not taken for shorter than this part of the estimate. */
const DENSEST = 3;

/** What a model is given besides the history. */
export interface Beside {
  system?: string | undefined;
  /** As they are offered. */
  tools: readonly object[];
  window: ModelWindow;
}

/** What a conversation takes of its model's context: as the model says, or as estimated while it does not. */
export class ContextUse {
  #usedTokens: number | undefined;
  /** What is taken to be gone of the context: never less than the estimate, whatever the model says. */
  #takenTokens: number | undefined;
  /** Tokens of the model for each that was estimated. */
  #density = 1;
  /** The person knows that the model is not given everything. */
  #hasSaid = false;

  /** Tokens the conversation took at the latest answer; undefined before the first. */
  get usedTokens(): number | undefined {
    return this.#usedTokens;
  }

  /** Bytes of tool results that still fit. */
  capacityBytes(window: ModelWindow): number {
    return capacityBytes(window, this.#takenTokens);
  }

  /** The same before the model has answered: for a history that it is going to be given. */
  capacityAfter(turns: readonly Turn[], beside: Beside): number {
    const { turns: given } = this.#fitted(turns, beside);
    return capacityBytes(beside.window, Math.ceil(this.#tokensOf(given, beside) * this.#density));
  }

  /** The person speaks: what is left out from here on is worth another word. */
  beginTurn(): void {
    this.#hasSaid = false;
  }

  /** What of a history the model is to be given, and what to say about it: once a turn, when something is left out. */
  fit(turns: readonly Turn[], beside: Beside): { turns: readonly Turn[]; notice?: string } {
    const { turns: given, leftOut } = this.#fitted(turns, beside);
    if (leftOut === 0 || this.#hasSaid) return { turns: given };
    this.#hasSaid = true;
    return { turns: given, notice: leftOutNotice(leftOut) };
  }

  /** The model has answered these turns. */
  heard(given: readonly Turn[], beside: Beside, { turns, calls, usedTokens }: ModelAnswer): void {
    const uses = calls.map((call): Turn => ({ kind: "tool_use", ...call, at: 0 }));
    const estimated = this.#tokensOf([...given, ...turns, ...uses], beside);
    this.#usedTokens = usedTokens ?? Math.ceil(estimated * this.#density);
    this.#takenTokens = Math.max(this.#usedTokens, estimated);
    if (usedTokens !== undefined && estimated > 0)
      this.#density = Math.min(DENSEST, Math.max(1, usedTokens / estimated));
  }

  /** What fits beside the rest, room for results left free; all of it where the context is not known. */
  #fitted(turns: readonly Turn[], beside: Beside): FittedHistory {
    const most = historyTokens(beside.window);
    if (most === undefined) return { turns, leftOut: 0 };
    return fitHistory(turns, most / this.#density - this.#tokensOf([], beside));
  }

  #tokensOf(turns: readonly Turn[], { system, tools }: Beside): number {
    const offered = tools.length === 0 ? 0 : Buffer.byteLength(JSON.stringify(tools)) / BYTES_PER_TOKEN;
    return estimateTokens(turns, system) + Math.ceil(offered);
  }
}

function leftOutNotice(count: number): string {
  const are = count === 1 ? "was" : "were";
  return `The conversation no longer fits the model: ${count} of its oldest messages ${are} left out this time. They stay on record.`;
}
