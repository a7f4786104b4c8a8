import type { JsonObject } from "@sallyport/protocol";
import { LruMap } from "../../lru-map.ts";
import { NO, negate, type Truth, UNSURE, YES } from "../../match/truth.ts";
import type { PolicyRequest, PolicyVerdict } from "../../ports/authority.ts";
import { redact } from "../../redact/redact.ts";
import { type Condition, TOOLS_PATH } from "./conditions.ts";

export const EFFECTS = ["deny", "ask", "allow"] as const;
/** What a rule decides for the calls it matches, the strictest first. */
export type Effect = (typeof EFFECTS)[number];

/** One compiled rule. */
export interface Rule {
  readonly id: string;
  readonly effect: Effect;
  /** The words of its verdict. */
  readonly words: Pick<PolicyVerdict, "reason" | "unlock" | "nearest" | "argument" | "code">;
  /** In the order they stand in the document. */
  readonly conditions: readonly Condition[];
  /** What stands under `unless`; none: there is no exception. */
  readonly exceptions: readonly Condition[];
  /** True when one of its conditions looks at the clock. */
  readonly timed: boolean;
  /** For an ask: the call runs as a preview first, and the person sees what it would change. */
  readonly preview: boolean;
}

/** "And" over the conditions. */
function allHold(conditions: readonly Condition[], request: PolicyRequest): Truth {
  let least: Truth = YES;
  for (const condition of conditions) {
    const truth = condition.judge(request);
    if (truth === NO) return NO;
    if (truth < least) least = truth;
  }
  return least;
}

/**
 * Whether a rule applies to a call. A doubt is resolved strictly: a rule that denies or asks applies, a rule that allows
 * does not. For a doubt about the exception it is the same: it lifts no deny and no ask, but it lifts an allow.
 */
export function applies(rule: Rule, request: PolicyRequest, conditions = rule.conditions): boolean {
  const met = allHold(conditions, request);
  if (met === NO) return false;
  const { exceptions, effect } = rule;
  const spared = exceptions.length === 0 ? YES : negate(allHold(exceptions, request));
  const truth = Math.min(met, spared);
  return effect === "allow" ? truth === YES : truth !== NO;
}

/** References to rules that are kept for tools that were asked about. */
const MAX_KEPT = 500_000;

/** A rule whose condition about the tool's name is kept apart from the others. */
interface Candidate extends Rule {
  readonly aboutTool: Condition | undefined;
  /** The cheap ones first. */
  readonly others: readonly Condition[];
}

export interface Matched<Kind extends Rule = Rule> {
  /** Every rule of the strictest effect that applies, in the order of the document; none: the default holds. */
  rules: readonly Kind[];
  /** True when one of the rules about the tool looks at the clock. */
  timed: boolean;
}

/** Finds the rules that apply. Which rules are about a tool is worked out once for each tool. */
export class RuleIndex {
  /** The strictest first, those of one effect in the order of the document. */
  readonly #all: readonly Candidate[];
  readonly #tools: LruMap<string, Matched<Candidate>>;

  constructor(rules: readonly Rule[]) {
    this.#all = EFFECTS.flatMap((effect) => rules.filter((rule) => rule.effect === effect)).map(candidate);
    this.#tools = new LruMap(Math.floor(MAX_KEPT / (rules.length + 1)));
  }

  match(request: PolicyRequest): Matched {
    const { rules, timed } = this.#tools.getOrAdd(request.tool, () => this.#about(request));
    const found: Rule[] = [];
    for (const rule of rules) {
      if (found[0] && found[0].effect !== rule.effect) break;
      if (applies(rule, request, rule.others)) found.push(rule);
    }
    return { rules: found, timed };
  }

  #about(request: PolicyRequest): Matched<Candidate> {
    const rules = this.#all.filter(({ aboutTool }) => aboutTool?.judge(request) !== NO);
    return { rules, timed: rules.some(({ timed }) => timed) };
  }
}

function candidate(rule: Rule): Candidate {
  const aboutTool = rule.conditions.find(({ path }) => path === TOOLS_PATH);
  const others = rule.conditions.filter((condition) => condition !== aboutTool);
  return { ...rule, aboutTool, others: others.sort((a, b) => a.cost - b.cost) };
}

const MAX_FOUND = 100;

/** The condition that made a rule apply or not, in words. */
interface DecidingCondition {
  /** JSON Pointer inside the rule, such as `/match/arguments/~1env`. */
  condition: string;
  /** `doubt`: it could not be judged, and was resolved strictly. */
  holds: "yes" | "no" | "doubt";
  text: string;
}

export interface RuleExplanation {
  id: string;
  effect: Effect;
  reason: string;
  applies: boolean;
  because?: DecidingCondition;
}

export function explainRule(rule: Rule, request: PolicyRequest): RuleExplanation {
  const { id, effect, words } = rule;
  const because = decidingCondition(rule, request);
  return { id, effect, reason: words.reason, applies: applies(rule, request), ...(because && { because }) };
}

/** For a rule that does not apply: the first condition that fails. For one that does: the first doubt, else the last condition. */
export function decidingCondition(rule: Rule, request: PolicyRequest): DecidingCondition | undefined {
  const { conditions, exceptions } = rule;
  const judged = conditions.map((condition) => ({ condition, truth: condition.judge(request) }));
  const missed = judged.find(({ truth }) => truth === NO) ?? judged.find(({ truth }) => truth === UNSURE);
  const isException =
    !applies(rule, request) && (missed === undefined || (missed.truth === UNSURE && rule.effect !== "allow"));
  if (isException) {
    const found = exceptions.map((condition) => `${condition.path}: ${foundText(condition, request)}`);
    return describe("/unless", allHold(exceptions, request), found.join("; "));
  }
  const deciding = missed ?? judged.at(-1);
  if (deciding === undefined) return undefined;
  const { condition, truth } = deciding;
  return describe(condition.path, truth, foundText(condition, request));
}

const WORDS = { 0: "no", 1: "doubt", 2: "yes" } as const;
const PHRASES = { no: "does not hold", doubt: "cannot be judged", yes: "holds" } as const;

function describe(condition: string, truth: Truth, found: string): DecidingCondition {
  const holds = WORDS[truth];
  return { condition, holds, text: `${condition} ${PHRASES[holds]} (${found})` };
}

/** The value under its own name, so that a secret is recognised by it. */
function foundText(condition: Condition, request: PolicyRequest): string {
  const found = condition.look(request);
  if (found === undefined) return "nothing there";
  const name = condition.argument?.split("/").at(-1) ?? "found";
  const [shown] = Object.values(redact({ [name]: found } as JsonObject) as JsonObject);
  const text = JSON.stringify(shown);
  return `found ${text.length > MAX_FOUND ? `${text.slice(0, MAX_FOUND)}…` : text}`;
}
