import { isAbsolute, relative, sep } from "node:path";
import { compileDenied } from "../workspace/denied-paths.ts";

/** What of a workspace its house keeps for itself: patterns from the workspace on, and absolute paths. */
export interface OffLimits {
  denied?: readonly string[];
  hidden?: readonly string[];
}

/** The pattern that keeps a path, relative to the workspace, from being used; undefined for any other. */
export type OffLimitsTest = (path: string) => string | undefined;

/** The same rules that the house holds every call to, so that they can be told before anybody is asked (FR-VAL-02). */
export function offLimits(root: string, { denied = [], hidden = [] }: OffLimits): OffLimitsTest {
  const rules = [...denied, ...hidden.flatMap((path) => below(root, path))].map((pattern) => ({
    pattern,
    isDenied: compileDenied([pattern]),
  }));
  return (path) => rules.find(({ isDenied }) => isDenied(path))?.pattern;
}

function below(root: string, hidden: string): string[] {
  const path = relative(root, hidden).split(sep).join("/");
  if (path === "") return ["**"];
  const isOutside = path === ".." || path.startsWith("../") || isAbsolute(path);
  return isOutside ? [] : [path.replaceAll(/[*?]/g, "?")];
}
