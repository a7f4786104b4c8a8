import type { IsolationLevel } from "@sallyport/protocol";

/** A way to run a process without namespaces of its own. */
export interface PlainBackend {
  readonly name: "process" | "none";
  readonly level: Extract<IsolationLevel, "LEVEL_0" | "LEVEL_1">;
}

/** LEVEL_1: limits, a session and a clean environment; an unprivileged user when the host is root. */
export const PROCESS_BACKEND: PlainBackend = { name: "process", level: "LEVEL_1" };

/** LEVEL_0: as the host's own user; watched and ended as a whole, but not held. */
export const NO_BACKEND: PlainBackend = { name: "none", level: "LEVEL_0" };
