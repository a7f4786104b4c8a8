import type { Attempt, Family } from "./attempt.ts";

/** What a pass is told. */
export interface PassOrder {
  /** `none`: without a sandbox, to see which attacks have teeth. */
  backend: "bubblewrap" | "oci" | "none";
  ociRuntime?: string;
  /** As it must stand on every result. */
  runner: string;
  /** True: each sandbox inside its agent's (BC-1). */
  nested: boolean;
  /** The pass's own folder. */
  folder: string;
  programs: string;
  /** Absent where nobody is root to make them. */
  devices?: string;
  token: string;
  selection: Selection;
  /** Only attempts whose name holds this, for work on one of them. */
  only?: string;
}

/** `core`: those that every backend is tried with; `bites`: those that come off without a sandbox. */
export type Selection = "all" | "core" | "bites";

/** Whether an attempt belongs to a pass. */
export function isWanted(
  attempt: Attempt,
  order: Pick<PassOrder, "selection" | "devices" | "only">,
): boolean {
  if (attempt.extra === "devices" && order.devices === undefined) return false;
  const isSelected = order.selection === "all" || attempt[order.selection] === true;
  return isSelected && attempt.name.includes(order.only ?? "");
}

/** What became of one attempt. */
export interface AttemptResult {
  family: Family;
  name: string;
  /** Empty: it was refused as it should be. */
  problems: string[];
  ending: string;
  /** Errors by which single ways were refused. */
  refusedBy: string[];
  wallMs: number;
  usage: { cpuMs: number; memoryPeakBytes: number };
  stdout?: string;
  stderr?: string;
}

/** What a pass says at its end. */
export interface PassResult {
  results: AttemptResult[];
  /** What is not as it was before, or left behind; empty when the host is unharmed. */
  hostHarm: string[];
}
