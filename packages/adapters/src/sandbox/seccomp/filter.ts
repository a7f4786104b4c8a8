import { answer, assemble, BPF, type BpfInstruction, jump, load, SECCOMP, SECCOMP_DATA } from "./bpf.ts";
import { AUDIT_ARCH, type FilterArch, syscallNumber } from "./syscall-numbers.ts";
import { type ArgumentTest, ERRNO, SYSCALL_RULES, type SyscallRule } from "./syscall-rules.ts";

/** Numbers from here on are the x32 ABI's: the same syscalls under other numbers, which would slip past the rules. */
const X32_NUMBERS = 0x4000_0000;

export interface FilterOptions {
  arch: FilterArch;
  /** False where nobody can listen: what would be seen and recorded is then refused in silence. */
  notify: boolean;
}

/**
 * The seccomp filter of LEVEL_2 as the kernel takes it. Another architecture's syscall kills the process, since its
 * numbers mean something else; a syscall without a rule is allowed.
 */
export function seccompFilter(options: FilterOptions): Buffer {
  return assemble([
    load(SECCOMP_DATA.architecture),
    jump(BPF.JUMP_EQUAL, AUDIT_ARCH[options.arch], { whenTrue: 1 }),
    answer(SECCOMP.KILL_PROCESS),
    load(SECCOMP_DATA.number),
    ...refuseX32(options.arch),
    ...SYSCALL_RULES.flatMap((rule) => ruleProgram(rule, options)),
    answer(SECCOMP.ALLOW),
  ]);
}

function refuseX32(arch: FilterArch): BpfInstruction[] {
  if (arch !== "x64") return [];
  return [jump(BPF.JUMP_AT_LEAST, X32_NUMBERS, { whenFalse: 1 }), answer(SECCOMP.ERRNO | ERRNO.ENOSYS)];
}

/** Expects the number loaded, and leaves it loaded for the next rule. */
function ruleProgram(rule: SyscallRule, options: FilterOptions): BpfInstruction[] {
  const number = syscallNumber(rule.syscall, options.arch);
  if (number === undefined) return [];
  const refuse = answer(refusal(rule, options.notify));
  const body = rule.when === undefined ? [refuse] : guarded(rule.when, refuse);
  return [jump(BPF.JUMP_EQUAL, number, { whenFalse: body.length }), ...body];
}

function refusal(rule: SyscallRule, notify: boolean): number {
  if (rule.action !== "notify") return SECCOMP.ERRNO | ERRNO[rule.action];
  return notify ? SECCOMP.USER_NOTIFICATION : SECCOMP.ERRNO | ERRNO.EPERM;
}

/** The answer behind its tests; falls through with the number loaded again when one does not hold. */
function guarded(tests: readonly ArgumentTest[], refuse: BpfInstruction): BpfInstruction[] {
  const program = [refuse, load(SECCOMP_DATA.number)];
  for (const test of tests.toReversed()) program.unshift(...testProgram(test, program.length - 1));
  return program;
}

/** Falls through to what follows when the test holds, otherwise skips `past` instructions. */
function testProgram(test: ArgumentTest, past: number): BpfInstruction[] {
  const start = load(SECCOMP_DATA.argument(test.argument));
  if (test.is === "anyBit") return [start, jump(BPF.JUMP_ANY_BIT, test.bits, { whenFalse: past })];
  const last = test.values.length - 1;
  const compare = test.values.map((value, index) => {
    const after = last - index;
    if (test.is === "noneOf") return jump(BPF.JUMP_EQUAL, value, { whenTrue: after + past });
    return jump(BPF.JUMP_EQUAL, value, { whenTrue: after, whenFalse: index === last ? past : 0 });
  });
  return [start, ...compare];
}
