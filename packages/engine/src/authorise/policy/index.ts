export { type CacheOptions, cachedPolicy } from "./decision-cache.ts";
export { type CompiledPolicy, compilePolicy, type Explanation } from "./document.ts";
export { completeCall, type PartialCall } from "./partial-call.ts";
export {
  askAll,
  DISABLED_MESSAGE,
  type SrdOptions,
  srdPolicy,
  strictest,
} from "./policies.ts";
export type { Effect, RuleExplanation } from "./rules.ts";
