import type { EgressRule, SandboxLimits } from "@sallyport/engine/ports";
import type { LimitName, Violation } from "@sallyport/protocol";

/** The kinds of escape attempts; each is one test per backend and host. */
export const FAMILIES = [
  "paths",
  "hidden paths",
  "kernel files",
  "mounts",
  "other processes",
  "signals",
  "namespaces",
  "privileges",
  "devices",
  "fork bombs",
  "memory bombs",
  "disk fillers",
  "processor time",
  "descriptors and output",
  "network",
  "egress",
  "leaks",
  "terminal",
  "keyring",
  "kernel calls",
  "filter",
  "survivors",
  "launcher",
] as const;
export type Family = (typeof FAMILIES)[number];

/** One thing that a hostile program tries. Pure data. */
export interface Attempt {
  family: Family;
  /** What it would be, if it came off. */
  name: string;
  /** An attack of the C programs, or a shell script. `{name}` in arguments stands for a place; see `places.ts`. */
  run: { attack: string; args?: readonly string[] } | { sh: string };
  /** Any of these endings proves it harmless; every other one fails. */
  expect: readonly Expectation[];
  /** How the workspace is seen. `overlay` unless said otherwise, as in the product. */
  workspace?: "overlay" | "copy";
  /** More that is mounted: the folder with device nodes and a setuid program of root's, or that with sockets. */
  extra?: "devices" | "sockets";
  /** A file of this many bytes is in the workspace. */
  largeFileBytes?: number;
  egress?: readonly EgressRule[];
  limits?: Partial<SandboxLimits>;
  /** Comes off on an ordinary Linux without a sandbox: the attack has teeth, and it is the sandbox that holds. */
  bites?: true;
  /** Runs against every backend, not only the two that are proved in full. */
  core?: true;
}

/** An ending that an attempt may have. */
export type Expectation =
  /** It ran to its end and each way it tried was refused, by one of these codes. */
  | { kind: "refused"; codes: readonly string[] }
  /** It ran to its end and what it did stayed within its limits or inside. */
  | { kind: "contained" }
  /** A refused system call is on record; `ends`: it was the end of the sandbox. */
  | { kind: "violation"; syscall: string; severity: Violation["severity"]; ends: boolean }
  | { kind: "limit"; limit: LimitName }
  | { kind: "signalled"; signal: string }
  | { kind: "exited"; code: number }
  | { kind: "timeout" };

/** Every way was refused by one of these errors. */
export const refused = (...codes: string[]): Expectation => ({ kind: "refused", codes });
export const CONTAINED: Expectation = { kind: "contained" };
export const TIMEOUT: Expectation = { kind: "timeout" };
/** The first attempt ends the sandbox (R2-2, R2-3). */
export const ends = (syscall: string): Expectation => ({
  kind: "violation",
  syscall,
  severity: "CRITICAL",
  ends: true,
});
/** Refused and on record, and the program may go on. */
export const recorded = (syscall: string, severity: Violation["severity"]): Expectation => ({
  kind: "violation",
  syscall,
  severity,
  ends: false,
});
export const limit = (name: LimitName): Expectation => ({ kind: "limit", limit: name });
export const signalled = (signal: string): Expectation => ({ kind: "signalled", signal });
export const exited = (code: number): Expectation => ({ kind: "exited", code });

type Rest = Omit<Attempt, "family" | "name" | "run" | "expect">;

/** Writes a family's attempts down, one line each. */
export function familyOf(family: Family) {
  return {
    attack: (
      name: string,
      run: string | readonly string[],
      expect: Expectation | Expectation[],
      rest: Rest = {},
    ): Attempt => {
      const [attack = "", ...args] = typeof run === "string" ? [run] : run;
      return { family, name, run: { attack, args }, expect: [expect].flat(), ...rest };
    },
    script: (name: string, sh: string, expect: Expectation | Expectation[], rest: Rest = {}): Attempt => {
      return { family, name, run: { sh }, expect: [expect].flat(), ...rest };
    },
  };
}
