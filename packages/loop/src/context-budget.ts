import type { ModelAnswer } from "./context.ts";
import type { Turn } from "./conversations-port.ts";
import { promptOf } from "./prompt.ts";
import {
  BYTES_PER_TOKEN,
  FALLBACK_CAPACITY_BYTES,
  type ModelWindow,
  SAFETY_MARGIN_TOKENS,
} from "./settings.ts";

/** How many bytes of tool results still fit the model's context (FR-REG-04b). Never negative. */
export function capacityBytes(window: ModelWindow, usedTokens: number | undefined): number {
  const { contextTokens, responseReserveTokens } = window;
  if (contextTokens === undefined || usedTokens === undefined) return FALLBACK_CAPACITY_BYTES;
  const left = contextTokens - usedTokens - responseReserveTokens - SAFETY_MARGIN_TOKENS;
  if (!Number.isFinite(left)) return FALLBACK_CAPACITY_BYTES;
  return Math.max(0, Math.floor(left)) * BYTES_PER_TOKEN;
}

/** Kept free for each result that is still to come. */
const LEAST_BYTES = 512;

/** What one result may take while others are to come, which must be able to say anything at all; they share a narrow room alike. */
export function roomBefore(toCome: number, capacityBytes: number): number {
  const each = Math.min(LEAST_BYTES, Math.floor(capacityBytes / (toCome + 1)));
  return Math.max(0, capacityBytes - toCome * each);
}

/**
 * How many tokens a model can be given, a quarter of what it takes left free for tool results, though no more than they
 * get where nothing is known. Undefined where the model's context is not known. Never negative.
 */
function historyTokens({ contextTokens, responseReserveTokens }: ModelWindow): number | undefined {
  const room = (contextTokens ?? Number.NaN) - responseReserveTokens - SAFETY_MARGIN_TOKENS;
  if (!Number.isFinite(room)) return undefined;
  const free = Math.min(FALLBACK_CAPACITY_BYTES / BYTES_PER_TOKEN, Math.floor(room / 4));
  return Math.max(0, room - free);
}

/** Tokens a history takes, rather too many than too few: each turn is rounded up by itself, names and meta count. */
export function estimateTokens(turns: readonly Turn[], system = ""): number {
  let tokens = tokensOf(Buffer.byteLength(system));
  for (const turn of turns) tokens += tokensOf(bytesOf(turn));
  return tokens;
}

function tokensOf(bytes: number): number {
  return Math.ceil(bytes / BYTES_PER_TOKEN);
}

function bytesOf(turn: Turn): number {
  const { kind } = turn;
  const meta = "meta" in turn && turn.meta !== undefined ? Buffer.byteLength(JSON.stringify(turn.meta)) : 0;
  if (kind !== "tool_use" && kind !== "tool_result") return Buffer.byteLength(turn.text) + meta;
  const said = kind === "tool_use" ? turn.arguments : turn.content;
  return Buffer.byteLength(turn.id) + Buffer.byteLength(turn.name) + Buffer.byteLength(said) + meta;
}

/** What of a history a model is given. */
interface FittedHistory {
  turns: readonly Turn[];
  /** Messages that are not among them. */
  leftOut: number;
}

/**
 * As much of a history as fits, the newest of it. It is cut only where the person speaks, so that a call never loses its
 * result nor an answer its question; the newest message of the person and what came of it stay, whether they fit or not.
 */
export function fitHistory(turns: readonly Turn[], mostTokens: number): FittedHistory {
  let start = turns.length;
  let tokens = 0;
  for (const [back, turn] of turns.toReversed().entries()) {
    const at = turns.length - 1 - back;
    tokens += tokensOf(bytesOf(turn));
    if (tokens > mostTokens && start < turns.length) break;
    if (turn.kind === "user" || at === 0) start = at;
  }
  return { turns: turns.slice(start), leftOut: promptOf(turns.slice(0, start)).length };
}

/** Whatever a model says of its tokens, they are not taken for shorter than this part of the estimate. */
const DENSEST = 3;

/** What a model is given besides the history, and the context it has for both. */
interface PromptExtras {
  /** Of the system text and the tools as they are offered. */
  tokens: number;
  window: ModelWindow;
}

/** Tokens of what a model is given besides the history. */
export function extraTokens(tools: readonly object[], system?: string): number {
  const offered = tools.length === 0 ? 0 : Buffer.byteLength(JSON.stringify(tools));
  return estimateTokens([], system) + tokensOf(offered);
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
  capacityAfter(turns: readonly Turn[], extras: PromptExtras): number {
    const { turns: given } = this.#fitted(turns, extras);
    const tokens = (estimateTokens(given) + extras.tokens) * this.#density;
    return capacityBytes(extras.window, Math.ceil(tokens));
  }

  /** The person speaks: what is left out from here on is worth another word. */
  beginTurn(): void {
    this.#hasSaid = false;
  }

  /** What of a history the model is to be given, and what to say about it: once a turn, when something is left out. */
  fit(turns: readonly Turn[], extras: PromptExtras): { turns: readonly Turn[]; notice?: string } {
    const { turns: given, leftOut } = this.#fitted(turns, extras);
    if (leftOut === 0 || this.#hasSaid) return { turns: given };
    this.#hasSaid = true;
    return { turns: given, notice: leftOutNotice(leftOut) };
  }

  /** The model has answered these turns. */
  heard(given: readonly Turn[], extras: PromptExtras, { turns, calls, usedTokens }: ModelAnswer): void {
    const uses = calls.map((call): Turn => ({ kind: "tool_use", ...call, at: 0 }));
    const estimated = estimateTokens([...given, ...turns, ...uses]) + extras.tokens;
    this.#usedTokens = usedTokens ?? Math.ceil(estimated * this.#density);
    this.#takenTokens = Math.max(this.#usedTokens, estimated);
    if (usedTokens !== undefined && estimated > 0)
      this.#density = Math.min(DENSEST, Math.max(1, usedTokens / estimated));
  }

  /** What fits beside the rest, room for results left free; all of it where the context is not known. */
  #fitted(turns: readonly Turn[], extras: PromptExtras): FittedHistory {
    const most = historyTokens(extras.window);
    if (most === undefined) return { turns, leftOut: 0 };
    return fitHistory(turns, most / this.#density - extras.tokens);
  }
}

function leftOutNotice(count: number): string {
  const are = count === 1 ? "was" : "were";
  return `The conversation no longer fits the model: ${count} of its oldest messages ${are} left out this time. They stay on record.`;
}
