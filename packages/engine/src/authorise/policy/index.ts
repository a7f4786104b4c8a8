export { type AskOptions, askAll } from "./ask-all.ts";
export { type CompiledPolicy, compilePolicy, type RuleSummary } from "./compile-policy.ts";
export { type CachedPolicy, type CacheOptions, cachedPolicy } from "./decision-cache.ts";
export type { DecidingCondition, Explanation, RuleExplanation } from "./explain.ts";
export { completeCall, type PartialCall } from "./partial-call.ts";
export { EFFECTS, type Effect } from "./rule.ts";
export { DISABLED_MESSAGE, type SrdOptions, srdPolicy } from "./srd-policy.ts";
export { strictest } from "./strictest.ts";
