import { AUDIT_ARCH, type FilterArch, syscallNumber } from "./syscall-numbers.ts";
import {
  type ArgumentTest,
  ERRNO,
  SYSCALL_RULES,
  type SyscallRule,
  UNCOUNTED_MEMORY_RULES,
} from "./syscall-rules.ts";

/** One classic-BPF instruction (struct sock_filter). */
interface BpfInstruction {
  code: number;
  jumpTrue: number;
  jumpFalse: number;
  value: number;
}

/** The opcodes a seccomp filter needs (linux/bpf_common.h). */
export const BPF = {
  LOAD: 0x20,
  JUMP_EQUAL: 0x15,
  JUMP_AT_LEAST: 0x35,
  JUMP_ANY_BIT: 0x45,
  RETURN: 0x06,
} as const;

/** What a filter can answer (linux/seccomp.h). */
export const SECCOMP = {
  KILL_PROCESS: 0x8000_0000,
  ERRNO: 0x0005_0000,
  USER_NOTIFICATION: 0x7fc0_0000,
  ALLOW: 0x7fff_0000,
} as const;

/** Offsets in struct seccomp_data; the low halves of arguments, as both architectures are little-endian. */
const SECCOMP_DATA = {
  number: 0,
  architecture: 4,
  argument: (index: number) => 16 + 8 * index,
} as const;

const BYTES_PER_INSTRUCTION = 8;
const LONGEST_JUMP = 255;

/** Loads a word of the syscall's data. */
const load = (offset: number): BpfInstruction => ({
  code: BPF.LOAD,
  jumpTrue: 0,
  jumpFalse: 0,
  value: offset,
});

/** Ends the filter with an answer. */
const answer = (value: number): BpfInstruction => ({
  code: BPF.RETURN,
  jumpTrue: 0,
  jumpFalse: 0,
  value,
});

/** Compares what was loaded and skips that many instructions. */
function jump(code: number, value: number, skip: { whenTrue?: number; whenFalse?: number }): BpfInstruction {
  const [jumpTrue, jumpFalse] = [skip.whenTrue ?? 0, skip.whenFalse ?? 0];
  if (Math.max(jumpTrue, jumpFalse) > LONGEST_JUMP) throw new RangeError("A filter's jump is too long.");
  return { code, jumpTrue, jumpFalse, value };
}

/** The bytes the kernel takes: struct sock_filter, one after the other. */
function assemble(program: readonly BpfInstruction[]): Buffer {
  const bytes = Buffer.alloc(program.length * BYTES_PER_INSTRUCTION);
  program.forEach((instruction, index) => {
    const at = index * BYTES_PER_INSTRUCTION;
    bytes.writeUInt16LE(instruction.code, at);
    bytes.writeUInt8(instruction.jumpTrue, at + 2);
    bytes.writeUInt8(instruction.jumpFalse, at + 3);
    bytes.writeUInt32LE(instruction.value >>> 0, at + 4);
  });
  return bytes;
}

/** Numbers from here on are the x32 ABI's: the same syscalls under other numbers, which would slip past the rules. */
const X32_NUMBERS = 0x4000_0000;

export interface FilterOptions {
  arch: FilterArch;
  /** False where nobody can listen: what would be seen and recorded is then refused in silence. */
  notify: boolean;
  /** False where no cgroup counts it: memory that outlives its maps is then refused. Left out: allowed. */
  sharedMemory?: boolean;
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
    ...rulesFor(options).flatMap((rule) => ruleProgram(rule, options)),
    answer(SECCOMP.ALLOW),
  ]);
}

function rulesFor({ sharedMemory = true }: FilterOptions): readonly SyscallRule[] {
  return sharedMemory ? SYSCALL_RULES : [...SYSCALL_RULES, ...UNCOUNTED_MEMORY_RULES];
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
