import { hash } from "node:crypto";
import {
  canonicalJson,
  defined,
  type Failure,
  failure,
  type Issue,
  type JsonValue,
  NotJsonError,
} from "@sallyport/protocol";
import { DocumentNode } from "../../match/document.ts";
import type { Policy, PolicyRequest, PolicyVerdict } from "../../ports/authority.ts";
import { TIERS, type Tier } from "../../ports/grants.ts";
import { readConditions } from "./conditions.ts";
import { completeCall, readPartialCall } from "./partial-call.ts";
import {
  applies,
  decidingCondition,
  EFFECTS,
  type Effect,
  explainRule,
  type Matched,
  type Rule,
  type RuleExplanation,
  RuleIndex,
} from "./rules.ts";

const MAX_RULES = 10_000;
const DOCUMENT_KEYS = ["version", "tier", "default", "rules"];
const RULE_KEYS = ["id", "effect", "reason", "match", "unless", "unlock", "nearest", "preview", "examples"];
const RULE_ID = /^[A-Za-z0-9][\w.:-]{0,127}$/;
const EXAMPLE_KINDS = ["match", "not"] as const;

/** A rule without its conditions, for lists. */
interface RuleSummary {
  id: string;
  effect: Effect;
  reason: string;
  /** Examples that were tried when the policy was compiled. */
  examples: { match: number; not: number };
}

/** Why a policy decides as it does: every rule, in the order of the document. */
export interface Explanation {
  verdict: PolicyVerdict;
  rules: RuleExplanation[];
  /** What holds when no rule applies. */
  default: Effect;
}

/** A policy from a rules document. It decides synchronously and never throws. */
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

interface CompileOptions {
  /** The policy's name in reasons and messages, such as its file name. */
  name: string;
  /** `none` only for documents that Sallyport generates: rules that people write need examples. */
  examples?: "required" | "none";
}

/** Compiles a rules document. E3223 lists every wrong place, also rules that contradict their examples. */
export function compilePolicy(document: unknown, options: CompileOptions): CompiledPolicy | Failure {
  const { name, examples = "required" } = options;
  const text = canonicalText(document);
  if (typeof text !== "string") return refused(name, [text]);
  const root = DocumentNode.of(document);
  const read = readDocument(root, examples);
  if (!read || root.issues.length > 0) return refused(name, root.issues);
  const { rules, ...source } = { ...read, name, version: hash("sha256", text).slice(0, 16) };
  const index = new RuleIndex(rules);
  const decide = (request: PolicyRequest) => verdictOf(index.match(request), request, source);
  return {
    ...source,
    rules: rules.map(({ id, effect, words, examples }) => ({ id, effect, reason: words.reason, examples })),
    decide,
    explain: (request) => ({
      verdict: decide(request),
      rules: rules.map((rule) => explainRule(rule, request)),
      default: source.defaultEffect,
    }),
  };
}

function canonicalText(document: unknown): string | Issue {
  try {
    return canonicalJson(document as JsonValue);
  } catch (error) {
    if (error instanceof NotJsonError) return { path: error.path, reason: error.reason };
    throw error;
  }
}

function refused(name: string, issues: readonly Issue[]): Failure {
  const places = issues.length === 1 ? "one place" : `${issues.length} places`;
  return failure("E3223", { message: `The policy ${name} is wrong in ${places}.`, issues: [...issues] });
}

/** A rule, and how many examples were tried on it. */
interface CheckedRule extends Rule {
  examples: RuleSummary["examples"];
}

function readDocument(root: DocumentNode, examples: "required" | "none") {
  if (!root.keys(DOCUMENT_KEYS)) return undefined;
  const version = root.at("version");
  if (version.value !== 1) version.wrong("must be 1", "the only version of the language");
  const tier = root.optional("tier", (node) => node.word(TIERS), "operator" as const);
  const defaultEffect = root.optional("default", (node) => node.word(EFFECTS), "deny" as const);
  const rules = root.optional("rules", (list) => readRules(list, examples), []);
  return tier && defaultEffect && { tier, defaultEffect, rules };
}

function readRules(rules: DocumentNode, examples: "required" | "none"): CheckedRule[] {
  const nodes = rules.items();
  if (!nodes) return rules.wrong("must be a list of rules") ?? [];
  if (nodes.length > MAX_RULES) return rules.wrong(`must have at most ${MAX_RULES} rules`) ?? [];
  const seen = new Set<string>();
  return nodes.flatMap((node) => {
    const rule = readRule(node, examples);
    if (!rule) return [];
    if (seen.has(rule.id)) node.at("id").wrong(`"${rule.id}" is taken by a rule before it`);
    seen.add(rule.id);
    return [rule];
  });
}

/** Reads one rule and tries its examples on it. Undefined when anything about it is wrong, which is noted. */
function readRule(node: DocumentNode, examples: "required" | "none"): CheckedRule | undefined {
  const before = node.issues.length;
  const rule = node.keys(RULE_KEYS) && compileRule(node);
  if (!rule || node.issues.length > before) return undefined;
  const count = examples === "none" ? { match: 0, not: 0 } : checkExamples(node.at("examples"), rule);
  return { ...rule, examples: count };
}

function compileRule(node: DocumentNode): Rule | undefined {
  const id = readId(node.at("id"));
  const effect = node.at("effect").word(EFFECTS);
  const conditions = readConditions(node, "match");
  const exceptions = node.has("unless") ? readConditions(node, "unless") : [];
  const text = (key: string) => node.optional(key, (member) => member.text());
  const [reason, unlock, nearest] = [text("reason"), text("unlock"), text("nearest")];
  if (id === undefined || effect === undefined) return undefined;
  // A deny or an ask needs a reason; an allow does not.
  if (reason === undefined && effect !== "allow")
    node.wrong(`rule "${id}" must give a reason`, 'add "reason"');
  const all = [...conditions, ...exceptions];
  const argument = all.find((condition) => condition.argument !== undefined)?.argument;
  const code = all.find((condition) => condition.code !== undefined)?.code ?? "E3225";
  return {
    id,
    effect,
    words: {
      reason: reason ?? `rule ${id} allows it`,
      ...defined({ unlock, nearest, argument, code: effect === "deny" ? code : undefined }),
    },
    preview: readPreview(node.at("preview"), effect),
    conditions,
    exceptions,
    timed: all.some(({ timed }) => timed === true),
  };
}

function readId(node: DocumentNode): string | undefined {
  const { value } = node;
  if (typeof value === "string" && RULE_ID.test(value)) return value;
  return node.wrong("must be a name", "letters, digits, dots and dashes, at most 128");
}

/** Only a rule that asks can have a preview. */
function readPreview(node: DocumentNode, effect: Effect): boolean {
  const isAsked = node.value !== undefined && node.value !== false;
  if (isAsked && (node.value !== true || effect !== "ask"))
    node.wrong("must be true, in a rule whose effect is ask", "preview: true");
  return isAsked;
}

/** Tries a rule's examples on it; every one the rule contradicts is noted, with the condition that does. */
function checkExamples(node: DocumentNode, rule: Rule): RuleSummary["examples"] {
  const count = { match: 0, not: 0 };
  if (!node.keys(EXAMPLE_KINDS)) return count;
  for (const kind of EXAMPLE_KINDS) {
    if (!node.has(kind)) node.wrong(`rule "${rule.id}" needs an example under "${kind}"`);
    else count[kind] = node.at(kind).list((example) => checkExample(example, rule, kind)).length;
  }
  return count;
}

function checkExample(node: DocumentNode, rule: Rule, kind: "match" | "not"): true | undefined {
  const before = node.issues.length;
  const call = completeCall(readPartialCall(node));
  if (node.issues.length > before || applies(rule, call) === (kind === "match")) return true;
  const does = kind === "match" ? "does not match" : "matches";
  const because = decidingCondition(rule, call)?.text ?? "it has no condition";
  return node.wrong(`rule "${rule.id}" ${does} this example: ${because}`);
}

/** The policy, without its rules. */
type Source = Pick<CompiledPolicy, "name" | "version" | "tier" | "defaultEffect">;

/** The verdict of the rules that apply: the first of them gives the words. */
function verdictOf({ rules, timed }: Matched, request: PolicyRequest, source: Source): PolicyVerdict {
  const { version: policyVersion, tier, defaultEffect } = source;
  const [first] = rules;
  const verdict: PolicyVerdict = {
    outcome: first?.effect ?? defaultEffect,
    ...(first?.words ?? defaultWords(request, source)),
    rules: rules.map(({ id }) => id),
    policyVersion,
    tier,
  };
  if (rules.some(({ preview }) => preview)) verdict.preview = true;
  if (timed) verdict.cacheMs = 0;
  return verdict;
}

function defaultWords({ tool, operation }: PolicyRequest, { name, defaultEffect }: Source): Rule["words"] {
  if (defaultEffect === "allow") return { reason: `no rule of policy ${name} forbids it` };
  if (defaultEffect === "ask") return { reason: `policy ${name} asks when no rule applies` };
  return {
    reason: `no rule of policy ${name} allows ${tool} ${operation}`,
    unlock: `Add a rule to policy ${name} that allows ${tool} ${operation}.`,
  };
}
