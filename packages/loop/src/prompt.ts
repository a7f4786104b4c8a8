import type {
  LanguageModelV4Message,
  LanguageModelV4Prompt,
  LanguageModelV4ToolCallPart,
  LanguageModelV4ToolResultPart,
  SharedV4ProviderOptions,
} from "@ai-sdk/provider";
import { isJsonObject, type JsonObject, type JsonValue, parseJsonObject } from "@sallyport/protocol";
import type { ToolResultTurn, ToolUseTurn, Turn } from "./conversations-port.ts";
import { MESSAGES } from "./settings.ts";

/** A turn in which the model speaks. */
type AnswerTurn = Extract<Turn, { kind: "assistant" | "reasoning" | "tool_use" }>;

/** A call with its result, where there is one. */
interface Use {
  turn: ToolUseTurn;
  /** Unique in the history. */
  id: string;
  result?: ToolResultTurn;
}

/** What was said in one go, by one side. Person and model need not alternate where tools come between. */
type TurnGroup = { kind: "user"; texts: string[] } | { kind: "answer"; turns: AnswerTurn[]; uses: Use[] };

/**
 * Puts a history into messages. A result goes to the latest answer that made a call of its id, the first of several
 * calls first; one that belongs to no call is left out, and so is what is empty. An answer is over when the person
 * speaks or its first result comes.
 */
function groupTurns(turns: readonly Turn[]): TurnGroup[] {
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
  const input = parseJsonObject(text);
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
