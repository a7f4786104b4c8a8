export { type CachedPolicy, type CacheOptions, cachedPolicy } from "./decision-cache.ts";
export { type CompiledPolicy, compilePolicy, type Explanation, type RuleSummary } from "./document.ts";
export { completeCall, type PartialCall } from "./partial-call.ts";
export {
  type AskOptions,
  askAll,
  DISABLED_MESSAGE,
  type SrdOptions,
  srdPolicy,
  strictest,
} from "./policies.ts";
export { type DecidingCondition, EFFECTS, type Effect, type RuleExplanation } from "./rules.ts";
