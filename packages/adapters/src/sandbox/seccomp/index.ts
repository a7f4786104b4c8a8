export { type FilterOptions, seccompFilter } from "./filter.ts";
export {
  type FilterArch,
  isFilterArch,
  type SyscallName,
  syscallName,
  syscallNumber,
} from "./syscall-numbers.ts";
export { fatalSyscalls, SYSCALL_RULES, type SyscallRule, syscallSeverity } from "./syscall-rules.ts";
