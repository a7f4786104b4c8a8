import type { PolicyVerdict } from "@sallyport/engine/ports";
import {
  type ErrorCode,
  failure,
  isJsonObject,
  type JsonObject,
  type JsonValue,
  SallyportError,
} from "@sallyport/protocol";

const MAX_TEXT = 1_000;
const MAX_RULES = 100;
const OUTCOMES = ["deny", "ask", "allow"] as const;
const CODES: Readonly<Record<string, ErrorCode>> = {
  filesystem: "E3203",
  network: "E3204",
  credentials: "E3205",
};

/** What an answer says; the policy adds whose word it is. */
export type Answer = Omit<PolicyVerdict, "tier">;

/**
 * Understands OPA's answer: `{result: true}`, `{result: false}` or `{result: {…}}`. Without a result the document is
 * not defined, which is a no. Throws (E3206) for anything else, so that nothing half understood lets a call pass.
 */
export function readOpaAnswer(answer: JsonValue): Answer {
  if (!isJsonObject(answer)) throw nonsense("it is not an object");
  const { result } = answer;
  if (result === undefined) return undefinedDocument();
  if (typeof result === "boolean") return decided(result ? "allow" : "deny", {});
  if (!isJsonObject(result)) throw nonsense("its result is neither true, false nor an object");
  return decided(outcomeOf(result), result);
}

/** Nobody wrote a rule at this address, or not yet: worth asking again. */
function undefinedDocument(): Answer {
  return {
    outcome: "deny",
    reason: "the policy is not defined at the address that was asked",
    rules: [],
    policyVersion: "opa:undefined",
    unlock: "Load a policy into OPA, or correct the endpoint.",
    cacheMs: 0,
  };
}

/** The strictest of what the result says; it has to say something. */
function outcomeOf(result: JsonObject): Answer["outcome"] {
  const said = [
    word(result.outcome),
    flag(result, "allow") === undefined ? undefined : result.allow ? ("allow" as const) : ("deny" as const),
    denies(result.deny) ? ("deny" as const) : undefined,
    flag(result, "ask") ? ("ask" as const) : undefined,
  ];
  const strictest = OUTCOMES.find((outcome) => said.includes(outcome));
  if (strictest === undefined) throw nonsense("its result does not say allow, ask, deny or outcome");
  return strictest;
}

function word(value: JsonValue | undefined): Answer["outcome"] | undefined {
  if (value === undefined) return undefined;
  const outcome = OUTCOMES.find((known) => known === value);
  if (outcome === undefined) throw nonsense("its outcome is neither allow, ask nor deny");
  return outcome;
}

function flag(result: JsonObject, key: "allow" | "ask"): boolean | undefined {
  const value = result[key];
  if (value !== undefined && typeof value !== "boolean")
    throw nonsense(`its ${key} is neither true nor false`);
  return value;
}

/** True, or a list of reasons with at least one in it. */
function denies(value: JsonValue | undefined): boolean {
  if (value === undefined || typeof value === "boolean") return value === true;
  return texts(value, "deny").length > 0;
}

function decided(outcome: Answer["outcome"], result: JsonObject): Answer {
  const answer: Answer = {
    outcome,
    reason: text(result, "reason") ?? reasons(result) ?? `OPA says ${outcome}`,
    rules: rulesOf(result),
    policyVersion: `opa:${text(result, "policy_version") ?? "unversioned"}`,
  };
  for (const key of ["argument", "unlock", "nearest"] as const) {
    const value = text(result, key);
    if (value !== undefined) answer[key] = value;
  }
  if (outcome === "deny") answer.code = CODES[text(result, "code") ?? ""] ?? "E3225";
  const seconds = result.cache_ttl_seconds;
  if (seconds !== undefined) answer.cacheMs = cacheMs(seconds);
  return answer;
}

function reasons({ deny }: JsonObject): string | undefined {
  const given = Array.isArray(deny) ? texts(deny, "deny") : [];
  return given.length === 0 ? undefined : shortened(given.join("; "));
}

function rulesOf(result: JsonObject): string[] {
  const rule = text(result, "rule");
  const rules = result.rules === undefined ? [] : texts(result.rules, "rules");
  return [...(rule === undefined ? [] : [rule]), ...rules];
}

function text(result: JsonObject, key: string): string | undefined {
  const value = result[key];
  if (value === undefined || value === null) return undefined;
  if (typeof value !== "string") throw nonsense(`its ${key} is not a text`);
  return shortened(value);
}

function texts(value: JsonValue, key: string): string[] {
  if (!Array.isArray(value) || !value.every((item) => typeof item === "string"))
    throw nonsense(`its ${key} is not a list of texts`);
  return value.slice(0, MAX_RULES).map(shortened);
}

/** Fit for the record, which has no place for half a character. */
export function shortened(text: string): string {
  return text.slice(0, MAX_TEXT).toWellFormed();
}

/** How long an answer may be remembered, from the seconds a service gives. */
export function cacheMs(seconds: JsonValue): number {
  if (typeof seconds !== "number" || seconds < 0)
    throw nonsense("its cache_ttl_seconds is not a number of seconds");
  return seconds * 1_000;
}

/** An answer that is not understood is no answer. */
export function nonsense(why: string): SallyportError {
  return new SallyportError(failure("E3206", { message: `The policy's answer makes no sense: ${why}.` }));
}
