import { RE2JS } from "re2js";
import { toRe2 } from "./pattern-syntax.ts";
import type { Work } from "./work.ts";

const MAX_CACHED = 2000;
/** Matching costs about 20 ns for each character and instruction; a step of the budget is about half a microsecond. */
const CHARACTER_INSTRUCTIONS_PER_STEP = 32;

/** A pattern that runs in time linear in the text, and pays for it from the work budget. */
export interface SafePattern {
  /** Instructions of the compiled pattern. */
  readonly size: number;
  /** Throws OutOfWork when the budget is used up. */
  test(text: string): boolean;
  /** The source: Ajv tells patterns apart by this text. */
  toString(): string;
}

export type PatternResult =
  | { ok: true; pattern: SafePattern }
  | { ok: false; reason: string; suggestion: string };

/** Compiles and keeps patterns; what cannot run in linear time comes back as a reason, never as an exception. */
export class PatternEngine {
  readonly #work: Work;
  readonly #compiled = new Map<string, PatternResult>();

  constructor(work: Work) {
    this.#work = work;
  }

  get(source: string): PatternResult {
    const known = this.#compiled.get(source);
    if (known) return known;
    const result = this.#compile(source);
    if (this.#compiled.size >= MAX_CACHED) this.#compiled.clear();
    this.#compiled.set(source, result);
    return result;
  }

  #compile(source: string): PatternResult {
    const mistake = ecmaScriptError(source);
    if (mistake !== undefined)
      return refused(`is not a regular expression: ${mistake}`, "Correct the pattern.");
    const translated = toRe2(source);
    if (!translated.ok) return refused(`uses ${translated.reason}`, WITHOUT_LOOKAROUND);
    try {
      return { ok: true, pattern: charged(RE2JS.compile(translated.pattern), source, this.#work) };
    } catch (thrown) {
      return refused(`cannot be run in linear time: ${messageOf(thrown)}`, SIMPLER);
    }
  }
}

const WITHOUT_LOOKAROUND =
  "Write it without lookaround and backreferences: several conditions can be several patterns in allOf, and not.";
const SIMPLER =
  "Use a simpler pattern: repeat counts up to 1000 (minLength and maxLength have no such limit), classes such as \\p{L}.";

function charged(compiled: RE2JS, source: string, work: Work): SafePattern {
  const size = compiled.programSize();
  return {
    size,
    test(text) {
      work.spend(Math.floor((text.length * size) / CHARACTER_INSTRUCTIONS_PER_STEP));
      return compiled.test(text);
    },
    toString: () => source,
  };
}

function ecmaScriptError(source: string): string | undefined {
  try {
    new RegExp(source, "u");
    return undefined;
  } catch (thrown) {
    return messageOf(thrown);
  }
}

function refused(reason: string, suggestion: string): PatternResult {
  return { ok: false, reason, suggestion };
}

function messageOf(thrown: unknown): string {
  return thrown instanceof Error ? thrown.message : String(thrown);
}
