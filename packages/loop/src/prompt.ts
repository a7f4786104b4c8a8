import type {
  LanguageModelV4Message,
  LanguageModelV4Prompt,
  LanguageModelV4ToolResultPart,
  SharedV4ProviderOptions,
} from "@ai-sdk/provider";
import { isJsonObject, type JsonObject, type JsonValue, parseJsonObject } from "@sallyport/protocol";
import type { ToolResultTurn, ToolUseTurn, Turn } from "./conversations-port.ts";
import { MESSAGES } from "./settings.ts";

/**
 * A history as a provider takes it (FR-8.1): what the model said in one go is one message, and the results of all its
 * calls, in call order, are the next one. Every call has a result: providers refuse a history in which one is
 * missing. Ids are unique and of harmless characters, whatever the model sent.
 */
export function promptOf(turns: readonly Turn[], system?: string): LanguageModelV4Prompt {
  const builder = new PromptBuilder();
  for (const turn of turns) builder.add(turn);
  if (system) builder.prompt.unshift({ role: "system", content: system });
  return builder.prompt;
}

type SpokenPart = Extract<LanguageModelV4Message, { role: "assistant" }>["content"][number];

/** What the model said in one go. */
interface Answer {
  parts: SpokenPart[];
  /** Where its first call stands among the parts. */
  firstCall?: number;
  results: LanguageModelV4ToolResultPart[];
  /** The results that are still missing, by the model's own id of the call, which may occur twice. */
  open: { id: string; part: LanguageModelV4ToolResultPart }[];
}

/**
 * Puts a history into messages. A result goes to the latest answer that made a call of its id, the first of several
 * calls first; one that belongs to no call is left out, and so is what is empty. An answer is over when the person
 * speaks or its first result comes. Person and model need not alternate where tools come between.
 */
class PromptBuilder {
  readonly prompt: LanguageModelV4Prompt = [];
  /** The answer that goes on. */
  #answer: Answer | undefined;
  readonly #ids = new Set<string>();
  /** How far an id has been counted on, so that one that occurs often is not counted from the start each time. */
  readonly #counted = new Map<string, number>();
  /** By the model's own id: the latest answer with such a call. */
  readonly #latest = new Map<string, Answer>();

  add(turn: Turn): void {
    if (turn.kind === "user") this.#user(turn.text);
    else if (turn.kind === "tool_use") this.#use(turn);
    else if (turn.kind === "tool_result") this.#result(turn);
    else this.#words(turn);
  }

  #user(text: string): void {
    if (text === "") return;
    const last = this.prompt.at(-1);
    if (last?.role === "user") last.content.push({ type: "text", text });
    else this.prompt.push({ role: "user", content: [{ type: "text", text }] });
    this.#answer = undefined;
  }

  /** Text goes before the calls: some providers want nothing between them and their results. */
  #words({ kind, text, meta }: Extract<Turn, { kind: "assistant" | "reasoning" }>): void {
    if (text === "" && meta === undefined) return;
    const answer = this.#current();
    const type = kind === "assistant" ? "text" : "reasoning";
    const isLate = type === "text" && answer.firstCall !== undefined;
    const at = isLate ? (answer.firstCall ?? 0) : answer.parts.length;
    answer.parts.splice(at, 0, { type, text, ...optionsOf(meta) });
    if (isLate) answer.firstCall = at + 1;
  }

  #use({ id, name: toolName, arguments: given, meta }: ToolUseTurn): void {
    const answer = this.#current();
    const toolCallId = this.#uniqueId(id);
    answer.firstCall ??= answer.parts.length;
    const input = inputOf(given);
    answer.parts.push({ type: "tool-call", toolCallId, toolName, input, ...optionsOf(meta) });
    const output: LanguageModelV4ToolResultPart["output"] = {
      type: "error-text",
      value: MESSAGES.missingResult,
    };
    const part: LanguageModelV4ToolResultPart = { type: "tool-result", toolCallId, toolName, output };
    if (answer.results.push(part) === 1) this.prompt.push({ role: "tool", content: answer.results });
    answer.open.push({ id, part });
    this.#latest.set(id, answer);
  }

  #result({ id, isError, content }: ToolResultTurn): void {
    const answer = this.#latest.get(id);
    const found = answer?.open.find((one) => one.id === id);
    if (!answer || !found) return;
    answer.open = answer.open.filter((one) => one !== found);
    found.part.output = { type: isError ? "error-text" : "text", value: content };
    if (answer === this.#answer) this.#answer = undefined;
  }

  #current(): Answer {
    if (this.#answer) return this.#answer;
    const fresh: Answer = { parts: [], results: [], open: [] };
    this.prompt.push({ role: "assistant", content: fresh.parts });
    this.#answer = fresh;
    return fresh;
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

/** Options are objects by provider; anything else would not be understood and is left out. */
function optionsOf(meta: JsonValue | undefined): { providerOptions?: SharedV4ProviderOptions } {
  if (!isJsonObject(meta)) return {};
  const options: SharedV4ProviderOptions = {};
  for (const [provider, value] of Object.entries(meta)) if (isJsonObject(value)) options[provider] = value;
  return Object.keys(options).length > 0 ? { providerOptions: options } : {};
}
