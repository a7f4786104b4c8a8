/** One classic-BPF instruction (struct sock_filter). */
export interface BpfInstruction {
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
export const SECCOMP_DATA = {
  number: 0,
  architecture: 4,
  argument: (index: number) => 16 + 8 * index,
} as const;

const BYTES_PER_INSTRUCTION = 8;
const LONGEST_JUMP = 255;

/** Loads a word of the syscall's data. */
export const load = (offset: number): BpfInstruction => ({
  code: BPF.LOAD,
  jumpTrue: 0,
  jumpFalse: 0,
  value: offset,
});

/** Ends the filter with an answer. */
export const answer = (value: number): BpfInstruction => ({
  code: BPF.RETURN,
  jumpTrue: 0,
  jumpFalse: 0,
  value,
});

/** Compares what was loaded and skips that many instructions. */
export function jump(
  code: number,
  value: number,
  skip: { whenTrue?: number; whenFalse?: number },
): BpfInstruction {
  const [jumpTrue, jumpFalse] = [skip.whenTrue ?? 0, skip.whenFalse ?? 0];
  if (Math.max(jumpTrue, jumpFalse) > LONGEST_JUMP) throw new RangeError("A filter's jump is too long.");
  return { code, jumpTrue, jumpFalse, value };
}

/** The bytes the kernel takes: struct sock_filter, one after the other. */
export function assemble(program: readonly BpfInstruction[]): Buffer {
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
