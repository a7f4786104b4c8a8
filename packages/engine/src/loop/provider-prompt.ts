import type {
  LanguageModelV4Message,
  LanguageModelV4Prompt,
  LanguageModelV4ToolCallPart,
  LanguageModelV4ToolResultPart,
  SharedV4ProviderOptions,
} from "@ai-sdk/provider";
import { isJsonObject, type JsonObject, type JsonValue } from "@sallyport/protocol";
import type { ToolResultTurn, ToolUseTurn, Turn } from "../ports/conversations.ts";
import { type AnswerTurn, groupTurns, type Use } from "./group-turns.ts";
import { jsonObjectIn } from "./json-object-text.ts";
import { MESSAGES } from "./loop-settings.ts";

/**
 * A history as a provider takes it (FR-8.1): what the model said in one go is one message, and the results of all its
 * calls, in call order, are the next one. Every call has a result: providers refuse a history in which one is
 * missing. Ids are unique and of harmless characters, whatever the model sent.
 */
export function promptOf(turns: readonly Turn[], system?: string): LanguageModelV4Prompt {
  const prompt: LanguageModelV4Prompt = [];
  if (system !== undefined && system !== "") prompt.push({ role: "system", content: system });
  for (const group of groupTurns(turns)) {
    if (group.kind === "user") {
      prompt.push({ role: "user", content: group.texts.map((text) => ({ type: "text", text })) });
    } else {
      prompt.push({ role: "assistant", content: answerParts(group.turns, group.uses) });
      if (group.uses.length > 0) prompt.push({ role: "tool", content: group.uses.map(resultPart) });
    }
  }
  return prompt;
}

type AnswerPart = Extract<LanguageModelV4Message, { role: "assistant" }>["content"][number];

/** As it came, except that text goes before the calls: some providers want nothing between them and their results. */
function answerParts(turns: readonly AnswerTurn[], uses: readonly Use[]): AnswerPart[] {
  const byTurn = new Map(uses.map((use) => [use.turn, use]));
  const parts = turns.flatMap((turn): AnswerPart[] => {
    if (turn.kind !== "tool_use") {
      const type = turn.kind === "assistant" ? "text" : "reasoning";
      return [{ type, text: turn.text, ...optionsOf(turn.meta) }];
    }
    const use = byTurn.get(turn);
    return use ? [callPart(turn, use.id)] : [];
  });
  const firstCall = parts.findIndex(({ type }) => type === "tool-call");
  if (firstCall < 0) return parts;
  const late = parts.slice(firstCall);
  const isText = ({ type }: AnswerPart) => type === "text";
  return [...parts.slice(0, firstCall), ...late.filter(isText), ...late.filter((part) => !isText(part))];
}

function callPart(turn: ToolUseTurn, toolCallId: string): LanguageModelV4ToolCallPart {
  return {
    type: "tool-call",
    toolCallId,
    toolName: turn.name,
    input: inputOf(turn.arguments),
    ...optionsOf(turn.meta),
  };
}

/** Deeper arguments are refused anyway, and could not be written as JSON again. */
const DEEPEST = 64;

function depthWithin(value: JsonValue, levels: number): boolean {
  if (typeof value !== "object" || value === null) return true;
  return levels > 0 && Object.values(value).every((inside) => depthWithin(inside, levels - 1));
}

/**
 * Always an object: one provider takes nothing else, another silently sends `{}` for other texts. What the model
 * really wrote stays readable under `_raw`, so that it can see what was wrong with it.
 */
function inputOf(text: string): JsonObject {
  if (text.trim() === "") return {};
  const input = jsonObjectIn(text);
  return input && depthWithin(input, DEEPEST) ? input : { _raw: text };
}

function resultPart({ id, turn, result }: Use): LanguageModelV4ToolResultPart {
  return { type: "tool-result", toolCallId: id, toolName: turn.name, output: outputOf(result) };
}

function outputOf(result: ToolResultTurn | undefined): LanguageModelV4ToolResultPart["output"] {
  if (!result) return { type: "error-text", value: MESSAGES.missingResult };
  return { type: result.isError ? "error-text" : "text", value: result.content };
}

/** Options are objects by provider; anything else would not be understood and is left out. */
function optionsOf(meta: JsonValue | undefined): { providerOptions?: SharedV4ProviderOptions } {
  if (!isJsonObject(meta)) return {};
  const options: SharedV4ProviderOptions = {};
  for (const [provider, value] of Object.entries(meta)) if (isJsonObject(value)) options[provider] = value;
  return Object.keys(options).length > 0 ? { providerOptions: options } : {};
}
