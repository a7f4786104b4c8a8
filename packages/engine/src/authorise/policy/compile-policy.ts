import { hash } from "node:crypto";
import {
  canonicalJson,
  type Failure,
  failure,
  type Issue,
  type JsonObject,
  type JsonValue,
  NotJsonError,
} from "@sallyport/protocol";
import { pointTo } from "../../match/json-pointer.ts";
import { Reading } from "../../match/reading.ts";
import { type Policy, type PolicyRequest, type PolicyVerdict, TIERS, type Tier } from "../../ports/policy.ts";
import { type Explanation, explainRule } from "./explain.ts";
import { type ReadRule, readRule } from "./read-rule.ts";
import { EFFECTS, type Effect } from "./rule.ts";
import { RuleIndex } from "./rule-index.ts";
import { verdictOf } from "./verdict.ts";

const MAX_RULES = 10_000;
const KEYS = ["version", "tier", "default", "rules"];

/** What can be told of a rule without its conditions. */
export interface RuleSummary {
  id: string;
  effect: Effect;
  reason: string;
  /** Examples that were tried when the policy was compiled. */
  examples: { match: number; not: number };
}

/** A policy from a rules document. It decides at once and does not fail. */
export interface CompiledPolicy extends Policy {
  /** Short hash of the document: another document, another version. */
  readonly version: string;
  readonly tier: Tier;
  /** What holds when no rule applies. */
  readonly defaultEffect: Effect;
  readonly rules: readonly RuleSummary[];
  decide(request: PolicyRequest): PolicyVerdict;
  explain(request: PolicyRequest): Explanation;
}

export interface CompileOptions {
  /** Who is speaking, in reasons and messages; a file's name will do. */
  name: string;
  /** `none` only for documents that Sallyport writes itself: people's rules have to prove what they mean. */
  examples?: "required" | "none";
}

/** Compiles a rules document. Refused (E3223) with every wrong place, rules that contradict their examples included. */
export function compilePolicy(document: unknown, options: CompileOptions): CompiledPolicy | Failure {
  const { name, examples = "required" } = options;
  const text = canonicalText(document);
  if (typeof text !== "string") return refused(name, [text]);
  const reading = new Reading();
  const read = readDocument(document, reading, examples);
  if (!read || reading.issues.length > 0) return refused(name, reading.issues);
  return assemble(read, { name, version: hash("sha256", text).slice(0, 16) });
}

function canonicalText(document: unknown): string | Issue {
  try {
    return canonicalJson(document as JsonValue);
  } catch (error) {
    if (error instanceof NotJsonError) return { path: error.path, reason: error.reason };
    throw error;
  }
}

function refused(name: string, issues: Issue[]): Failure {
  const places = issues.length === 1 ? "one place" : `${issues.length} places`;
  return failure("E3223", { message: `The policy ${name} is wrong in ${places}.`, issues });
}

interface ReadDocument {
  tier: Tier;
  defaultEffect: Effect;
  read: ReadRule[];
}

function readDocument(
  document: unknown,
  reading: Reading,
  examples: "required" | "none",
): ReadDocument | undefined {
  const given = reading.object(document, "", KEYS);
  if (!given) return undefined;
  if (given.version !== 1) reading.wrong("/version", "must be 1", "the only version of the language");
  const tier = given.tier === undefined ? "operator" : reading.word(given.tier, "/tier", TIERS);
  const defaultEffect =
    given.default === undefined ? "deny" : reading.word(given.default, "/default", EFFECTS);
  const read = readRules(given, reading, examples);
  return tier && defaultEffect && { tier, defaultEffect, read };
}

function readRules(given: JsonObject, reading: Reading, examples: "required" | "none"): ReadRule[] {
  const rules = given.rules ?? [];
  if (!Array.isArray(rules)) return reading.wrong("/rules", "must be a list of rules") ?? [];
  if (rules.length > MAX_RULES) return reading.wrong("/rules", `must have at most ${MAX_RULES} rules`) ?? [];
  const seen = new Set<string>();
  return rules.flatMap((rule, index) => {
    const path = pointTo("/rules", index);
    const read = readRule(rule, { path, reading, examples });
    if (!read) return [];
    if (seen.has(read.rule.id))
      reading.wrong(pointTo(path, "id"), `"${read.rule.id}" is taken by a rule before it`);
    seen.add(read.rule.id);
    return [read];
  });
}

function assemble(
  document: ReadDocument,
  { name, version }: { name: string; version: string },
): CompiledPolicy {
  const { tier, defaultEffect, read } = document;
  const rules = read.map(({ rule }) => rule);
  const index = new RuleIndex(rules);
  const from = { name, version, tier, defaultEffect };
  const decide = (request: PolicyRequest) => verdictOf(index.match(request), request, from);
  return {
    ...from,
    rules: read.map(({ rule: { id, effect, reason }, examples }) => ({ id, effect, reason, examples })),
    decide,
    explain: (request) => ({
      verdict: decide(request),
      rules: rules.map((rule) => explainRule(rule, request)),
      default: defaultEffect,
    }),
  };
}
