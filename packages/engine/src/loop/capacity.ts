import type { Turn } from "../ports/conversations.ts";
import {
  BYTES_PER_TOKEN,
  FALLBACK_CAPACITY_BYTES,
  type ModelWindow,
  SAFETY_MARGIN_TOKENS,
} from "./loop-settings.ts";

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
export function historyTokens({ contextTokens, responseReserveTokens }: ModelWindow): number | undefined {
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
  switch (turn.kind) {
    case "user":
      return Buffer.byteLength(turn.text);
    case "assistant":
    case "reasoning":
      return Buffer.byteLength(turn.text) + metaBytes(turn);
    case "tool_use":
      return sum(turn.id, turn.name, turn.arguments) + metaBytes(turn);
    case "tool_result":
      return sum(turn.id, turn.name, turn.content);
  }
}

function metaBytes({ meta }: { meta?: unknown }): number {
  return meta === undefined ? 0 : Buffer.byteLength(JSON.stringify(meta));
}

function sum(...texts: string[]): number {
  return texts.reduce((bytes, text) => bytes + Buffer.byteLength(text), 0);
}
