export { beyondBounds } from "./bounds/beyond-bounds.ts";
export { createSandbox } from "./create-sandbox.ts";
export {
  baseEnvironment,
  type SanitiseOptions,
  SECRET_NAMES,
  sanitiseEnvironment,
  TRICK_NAMES,
} from "./environment/index.ts";
export {
  BACKENDS,
  type BackendName,
  DEFAULT_USER,
  type OpenEgress,
  type OpenedEgress,
  type SandboxEvent,
  type SandboxOptions,
} from "./options.ts";
export { fatalSyscalls, SYSCALL_RULES, seccompFilter } from "./seccomp/index.ts";
