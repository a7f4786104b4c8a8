export { patchArgumentBytes } from "./apply-patch.ts";
export { builtinTools } from "./builtin-tools.ts";
export { commandResultText } from "./command-result.ts";
export { createEnvSanitizer, type EnvSanitizer } from "./env-sanitizer.ts";
export {
  type BuiltinLimits,
  type BuiltinOptions,
  type BuiltinTool,
  DEFAULT_BUILTIN_LIMITS,
  type GivenLimits,
  type ListLimits,
} from "./options.ts";
