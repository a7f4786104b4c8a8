import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { BPF, SECCOMP, seccompFilter } from "./filter.ts";
import {
  AUDIT_ARCH,
  type FilterArch,
  type SyscallName,
  syscallName,
  syscallNumber,
} from "./syscall-numbers.ts";
import { ERRNO, fatalSyscalls, SYSCALL_RULES, syscallSeverity } from "./syscall-rules.ts";

/** A syscall as the kernel hands it to a filter. */
interface SyscallAttempt {
  architecture: number;
  number: number;
  arguments?: readonly bigint[];
}

/** Runs a filter's bytes as the kernel would; throws on anything the kernel would not accept either. */
function runFilter(filter: Buffer, attempt: SyscallAttempt): number {
  const data = syscallData(attempt);
  let loaded = 0;
  for (let at = 0; at < filter.length; at += 8) {
    const value = filter.readUInt32LE(at + 4);
    const code = filter.readUInt16LE(at);
    if (code === BPF.RETURN) return value;
    if (code === BPF.LOAD) loaded = data.readUInt32LE(value);
    else at += 8 * filter.readUInt8(at + (holds(code, loaded, value) ? 2 : 3));
  }
  throw new Error("The filter ends without an answer.");
}

function holds(code: number, loaded: number, value: number): boolean {
  if (code === BPF.JUMP_EQUAL) return loaded === value;
  if (code === BPF.JUMP_AT_LEAST) return loaded >= value;
  if (code === BPF.JUMP_ANY_BIT) return (loaded & value) !== 0;
  throw new Error(`The filter has the unknown instruction ${code}.`);
}

function syscallData(attempt: SyscallAttempt): Buffer {
  const data = Buffer.alloc(64);
  data.writeInt32LE(attempt.number | 0, 0);
  data.writeUInt32LE(attempt.architecture, 4);
  attempt.arguments?.forEach((argument, index) => {
    data.writeBigUInt64LE(BigInt.asUintN(64, argument), 16 + 8 * index);
  });
  return data;
}

const ARCHES: FilterArch[] = ["x64", "arm64"];
const NOTIFIED = SECCOMP.USER_NOTIFICATION;
const errno = (name: keyof typeof ERRNO) => SECCOMP.ERRNO | ERRNO[name];

function answered(arch: FilterArch, name: SyscallName, args: bigint[] = []): number {
  const number = syscallNumber(name, arch) ?? Number.NaN;
  const filter = seccompFilter({ arch, notify: true });
  return runFilter(filter, { architecture: AUDIT_ARCH[arch], number, arguments: args });
}

describe.each(ARCHES)("the seccomp filter for %s", (arch) => {
  const filter = seccompFilter({ arch, notify: true });
  const architecture = AUDIT_ARCH[arch];

  it.each([
    ...(["ptrace", "kexec_load", "open_by_handle_at", "perf_event_open", "bpf", "userfaultfd"] as const),
    ...(["mount", "umount2", "pivot_root", "chroot", "unshare", "setns"] as const),
  ])("refuses %s and lets it be seen (RFC-0002)", (name) => {
    expect(answered(arch, name)).toBe(NOTIFIED);
  });

  it("knows no io_uring (RFC-0002), and makes no record of libuv asking for it", () => {
    for (const name of ["io_uring_setup", "io_uring_enter", "io_uring_register"] as const) {
      expect(answered(arch, name)).toBe(errno("ENOSYS"));
    }
  });

  it("allows what no rule is about", () => {
    const ruled = new Set(SYSCALL_RULES.map((rule) => syscallNumber(rule.syscall, arch)));
    for (let number = 0; number < 600; number++) {
      if (ruled.has(number)) continue;
      expect(runFilter(filter, { architecture, number }), String(number)).toBe(SECCOMP.ALLOW);
    }
  });

  it("refuses memory that nothing counts, where there is no cgroup [MCX-7]", () => {
    const strict = seccompFilter({ arch, notify: true, sharedMemory: false });
    const [ANONYMOUS, SHARED, PRIVATE, VALIDATED] = [0x20n, 1n, 2n, 3n];
    const asked = (name: SyscallName, flags = 0n) =>
      runFilter(strict, {
        architecture,
        number: syscallNumber(name, arch) ?? -1,
        arguments: [0n, 0n, 0n, flags],
      });
    expect(asked("memfd_create")).toBe(errno("ENOSYS"));
    expect(asked("mmap", SHARED | ANONYMOUS)).toBe(errno("ENOMEM"));
    expect(asked("mmap", VALIDATED | ANONYMOUS)).toBe(errno("ENOMEM"));
    for (const flags of [SHARED, PRIVATE, PRIVATE | ANONYMOUS])
      expect(asked("mmap", flags)).toBe(SECCOMP.ALLOW);
    expect(answered(arch, "mmap", [0n, 0n, 0n, SHARED | ANONYMOUS])).toBe(SECCOMP.ALLOW);
    const number = syscallNumber("setsockopt", arch) ?? -1;
    const option = (level: bigint, name: bigint) =>
      runFilter(strict, { architecture, number, arguments: [3n, level, name] });
    for (const size of [7n, 8n, 32n, 33n]) expect(option(1n, size)).toBe(SECCOMP.ERRNO);
    for (const [level, name] of [[1n, 2n] as const, [6n, 7n] as const])
      expect(option(level, name)).toBe(SECCOMP.ALLOW);
  });

  it("kills what speaks another architecture's numbers", () => {
    for (const other of [0x4000_0003, 0x4000_0028, 0, AUDIT_ARCH[arch === "x64" ? "arm64" : "x64"]]) {
      expect(runFilter(filter, { architecture: other, number: 1 })).toBe(SECCOMP.KILL_PROCESS);
    }
  });

  it("lets processes and threads be made, but no namespace", () => {
    expect(answered(arch, "clone", [17n])).toBe(SECCOMP.ALLOW);
    expect(answered(arch, "clone", [0x3d0f00n])).toBe(SECCOMP.ALLOW);
    for (const bit of [17, 25, 26, 27, 28, 29, 30]) {
      expect(answered(arch, "clone", [(1n << BigInt(bit)) | 17n]), String(bit)).toBe(NOTIFIED);
    }
    expect(answered(arch, "clone3")).toBe(errno("ENOSYS"));
  });

  it("refuses to type into a terminal, whatever the upper half of the request says", () => {
    for (const request of [0x5412n, 0x541cn, 0x5412n | (1n << 32n), (0xffff_ffffn << 32n) | 0x541cn]) {
      expect(answered(arch, "ioctl", [0n, request])).toBe(NOTIFIED);
    }
    expect(answered(arch, "ioctl", [0n, 0x5413n])).toBe(SECCOMP.ALLOW);
  });

  it("knows four socket families and of netlink only routes", () => {
    for (const family of [1n, 2n, 10n, 16n, (1n << 32n) | 2n]) {
      expect(answered(arch, "socket", [family, 1n, 0n])).toBe(SECCOMP.ALLOW);
    }
    for (const family of [0n, 3n, 17n, 31n, 38n, 40n, 44n, (1n << 32n) | 40n]) {
      expect(answered(arch, "socket", [family, 1n, 0n])).toBe(errno("EAFNOSUPPORT"));
    }
    expect(answered(arch, "socket", [16n, 3n, 9n])).toBe(errno("EAFNOSUPPORT"));
    expect(answered(arch, "socketpair", [1n])).toBe(SECCOMP.ALLOW);
    expect(answered(arch, "socketpair", [30n])).toBe(errno("EAFNOSUPPORT"));
  });

  it("takes ordinary personalities only", () => {
    for (const plain of [0n, 8n, 0x20000n, 0x20008n, 0xffffffffn]) {
      expect(answered(arch, "personality", [plain])).toBe(SECCOMP.ALLOW);
    }
    expect(answered(arch, "personality", [0x40000n])).toBe(errno("EPERM"));
  });

  it("refuses in silence where nobody listens", () => {
    const deaf = seccompFilter({ arch, notify: false });
    fc.assert(
      fc.property(fc.nat(600), fc.bigInt(0n, (1n << 64n) - 1n), (number, first) => {
        const attempt = { architecture, number, arguments: [first, first] };
        const [heard, unheard] = [runFilter(filter, attempt), runFilter(deaf, attempt)];
        expect(unheard).toBe(heard === NOTIFIED ? errno("EPERM") : heard);
      }),
    );
  });

  it("has names for its numbers and back", () => {
    for (const rule of SYSCALL_RULES) {
      const number = syscallNumber(rule.syscall, arch);
      if (number !== undefined) expect(syscallName(number, arch)).toBe(rule.syscall);
    }
  });
});

describe("the seccomp filter", () => {
  it("knows no x32 syscall", () => {
    const filter = seccompFilter({ arch: "x64", notify: true });
    for (const number of [0x4000_0000, 0x4000_00a5, 0x7fff_ffff, -1]) {
      expect(runFilter(filter, { architecture: AUDIT_ARCH.x64, number })).toBe(errno("ENOSYS"));
    }
  });

  it("fits what the kernel takes", () => {
    for (const arch of ARCHES) {
      const filter = seccompFilter({ arch, notify: true });
      expect(filter.length % 8).toBe(0);
      expect(filter.length / 8).toBeLessThan(4096);
    }
  });

  it("calls RFC-0002's attacks critical and what runtimes probe medium", () => {
    expect(fatalSyscalls()).toEqual(expect.arrayContaining(["mount", "ptrace", "unshare", "setns", "bpf"]));
    expect(fatalSyscalls()).not.toContain("clone");
    expect(syscallSeverity("userfaultfd")).toBe("MEDIUM");
    expect(syscallSeverity("socket")).toBe("HIGH");
    expect(syscallSeverity(undefined)).toBe("HIGH");
  });
});
