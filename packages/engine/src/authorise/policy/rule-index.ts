import { NO } from "../../match/truth.ts";
import type { PolicyRequest } from "../../ports/policy.ts";
import type { Condition } from "./condition.ts";
import { applies, EFFECTS, type Effect, type Rule } from "./rule.ts";

/** References kept for tools that were asked about; beyond it all are worked out anew. */
const MAX_KEPT = 500_000;
const TOOLS = "/match/tools";

/** A rule with its question about the tool's name apart from the others. */
interface Candidate {
  readonly rule: Rule;
  readonly aboutTool: Condition | undefined;
  /** The cheap ones first. */
  readonly others: readonly Condition[];
}

/** The rules that could speak of one tool. */
interface Candidates extends Readonly<Record<Effect, readonly Candidate[]>> {
  /** True when one of them looks at the clock. */
  readonly timed: boolean;
}

export interface Matched {
  /** Every rule of the strictest effect that applies, in the order of the document; none: the default holds. */
  rules: Rule[];
  timed: boolean;
}

/** Finds the rules that apply. Which rules are about a tool is worked out once for each tool. */
export class RuleIndex {
  readonly #all: readonly Candidate[];
  readonly #tools = new Map<string, Candidates>();
  #kept = 0;

  constructor(rules: readonly Rule[]) {
    this.#all = rules.map(candidate);
  }

  match(request: PolicyRequest): Matched {
    const candidates = this.#tools.get(request.tool) ?? this.#workOut(request);
    const { timed } = candidates;
    for (const effect of EFFECTS) {
      const rules = applying(candidates[effect], request);
      if (rules.length > 0) return { rules, timed };
    }
    return { rules: [], timed };
  }

  #workOut(request: PolicyRequest): Candidates {
    const about = this.#all.filter(({ aboutTool }) => aboutTool?.judge(request) !== NO);
    const of = (effect: Effect) => about.filter(({ rule }) => rule.effect === effect);
    const timed = about.some(({ rule }) => rule.timed);
    const found = { deny: of("deny"), ask: of("ask"), allow: of("allow"), timed };
    this.#keep(request.tool, found, about.length + 1);
    return found;
  }

  #keep(tool: string, found: Candidates, size: number): void {
    if (this.#kept + size > MAX_KEPT) {
      this.#tools.clear();
      this.#kept = 0;
    }
    this.#kept += size;
    this.#tools.set(tool, found);
  }
}

function candidate(rule: Rule): Candidate {
  const aboutTool = rule.conditions.find(({ path }) => path === TOOLS);
  const others = rule.conditions.filter((condition) => condition !== aboutTool);
  return { rule, aboutTool, others: others.sort((a, b) => a.cost - b.cost) };
}

function applying(candidates: readonly Candidate[], request: PolicyRequest): Rule[] {
  const rules: Rule[] = [];
  for (const candidate of candidates) {
    if (applies(candidate.rule, request, candidate.others)) rules.push(candidate.rule);
  }
  return rules;
}
