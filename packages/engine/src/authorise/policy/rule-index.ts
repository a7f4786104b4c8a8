import { NO } from "../../match/truth.ts";
import type { PolicyRequest } from "../../ports/policy.ts";
import type { Condition } from "./condition.ts";
import { applies, EFFECTS, type Effect, type Rule } from "./rule.ts";

const MAX_TOOLS = 2_000;

/** The rules that could speak of one tool, and what is left to look at. */
interface Candidate {
  rule: Rule;
  /** Without the tool's name, the cheap ones first. */
  conditions: readonly Condition[];
}

interface Candidates extends Readonly<Record<Effect, readonly Candidate[]>> {
  /** True when one of them looks at the clock. */
  timed: boolean;
}

export interface Matched {
  /** Every rule of the strictest effect that applies, in the order of the document; none: the default holds. */
  rules: Rule[];
  timed: boolean;
}

/** Finds the rules that apply. Which rules are about a tool is worked out once for each tool. */
export class RuleIndex {
  readonly #rules: readonly Rule[];
  readonly #tools = new Map<string, Candidates>();

  constructor(rules: readonly Rule[]) {
    this.#rules = rules;
  }

  match(request: PolicyRequest): Matched {
    const candidates = this.#candidates(request);
    const { timed } = candidates;
    for (const effect of EFFECTS) {
      const rules = applying(candidates[effect], request);
      if (rules.length > 0) return { rules, timed };
    }
    return { rules: [], timed };
  }

  #candidates(request: PolicyRequest): Candidates {
    const known = this.#tools.get(request.tool);
    if (known) return known;
    if (this.#tools.size >= MAX_TOOLS) this.#tools.clear();
    const found = candidatesFor(this.#rules, request);
    this.#tools.set(request.tool, found);
    return found;
  }
}

function applying(candidates: readonly Candidate[], request: PolicyRequest): Rule[] {
  const rules: Rule[] = [];
  for (const { rule, conditions } of candidates) {
    if (applies(rule, request, conditions)) rules.push(rule);
  }
  return rules;
}

const TOOLS = "/match/tools";

function candidatesFor(rules: readonly Rule[], request: PolicyRequest): Candidates {
  const found: Record<Effect, Candidate[]> = { deny: [], ask: [], allow: [] };
  for (const rule of rules) {
    const aboutTool = rule.conditions.find(({ path }) => path === TOOLS);
    if (aboutTool?.judge(request) === NO) continue;
    const conditions = rule.conditions
      .filter((condition) => condition !== aboutTool)
      .sort((a, b) => a.cost - b.cost);
    found[rule.effect].push({ rule, conditions });
  }
  return { ...found, timed: EFFECTS.some((effect) => found[effect].some(({ rule }) => rule.timed)) };
}
