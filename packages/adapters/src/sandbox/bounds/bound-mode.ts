import type { AgentBounds } from "@sallyport/engine/ports";
import { isWithin } from "../plan/paths.ts";

/** How the agent may use a path: what its closest rule says; undefined when no rule is about it. */
export function boundMode(
  path: string,
  filesystem: NonNullable<AgentBounds["filesystem"]>,
): "ro" | "rw" | undefined {
  const covering = filesystem.filter((bound) => isWithin(path, bound.path));
  return covering.toSorted((a, b) => b.path.length - a.path.length)[0]?.mode;
}
