import type { DeniedTest } from "./denied-paths.ts";
import { forbidden } from "./failures.ts";
import { partsOf } from "./relative-path.ts";
import { systemError } from "./system-error.ts";

const MOST_LINKS = 40;

/** What a path is resolved in: links as the call sees them. */
export interface LinkView {
  root: string;
  isDenied: DeniedTest;
  /** What is at a path free of links: undefined for nothing. */
  at(parts: readonly string[]): Promise<{ type: string; target?: string } | undefined>;
}

/**
 * The parts of the path that a given one really means, free of links. Rejects with E3105 when it, or any link on its
 * way, leads outside or to what is denied; with ENOENT or ENOTDIR when there is no folder where one must be.
 */
export async function resolvePath(
  path: string,
  view: LinkView,
  { follow }: { follow: boolean },
): Promise<string[]> {
  const pending = partsOf(path);
  if (view.isDenied(pending.join("/"))) throw forbidden(path, "must not be used");
  let done: string[] = [];
  for (let links = 0; pending.length > 0; ) {
    const here = step(done, pending.shift() ?? "", path);
    if (view.isDenied(here.join("/"))) throw forbidden(path, "leads to what must not be used");
    const found = here.length === 0 ? { type: "folder" } : await view.at(here);
    if (found?.type === "symlink" && (follow || pending.length > 0)) {
      if (++links > MOST_LINKS) throw systemError("ELOOP", path);
      const { from, parts } = behind(found.target ?? "", { view, path });
      if (from === "root") done = [];
      pending.unshift(...parts);
      continue;
    }
    if (pending.length > 0 && found?.type !== "folder") throw systemError(found ? "ENOTDIR" : "ENOENT", path);
    done = here;
  }
  return done;
}

function step(done: readonly string[], part: string, path: string): string[] {
  if (part !== "..") return [...done, part];
  if (done.length === 0) throw forbidden(path, "leads outside the workspace");
  return done.slice(0, -1);
}

function behind(target: string, { view, path }: { view: LinkView; path: string }) {
  const absolute = target.startsWith("/");
  if (absolute && target !== view.root && !target.startsWith(`${view.root}/`))
    throw forbidden(path, "leads outside the workspace");
  const inside = absolute ? target.slice(view.root.length) : target;
  const parts = inside.split("/").filter((part) => part !== "" && part !== ".");
  return { from: absolute ? "root" : "here", parts } as const;
}
