import type { JsonValue } from "@sallyport/protocol";
import { ArgumentReader } from "./argument-reader.ts";
import type { ListLimits } from "./options.ts";
import { badArguments } from "./problems.ts";

/** What a call of list_directory wants, with everything it left out filled in. */
export interface ListArguments {
  path: string;
  recursive: boolean;
  /** 1: only what is in the folder itself. */
  maxDepth: number;
  maxEntries: number;
  hidden: boolean;
  files: boolean;
  dirs: boolean;
  symlinks: boolean;
  other: boolean;
}

/** The call's own word goes before the house's. Throws E3901 for what the house's caps or the arguments themselves forbid. */
export function listArguments(input: JsonValue, limits: ListLimits): ListArguments {
  const given = new ArgumentReader(input);
  const path = given.path().trim();
  const recursive = given.flag("recursive", false);
  const wanted = {
    path,
    recursive,
    maxDepth: depthOf(given.count("max_depth"), { recursive, most: limits.maxDepth }),
    maxEntries: capped("max_entries", given.count("max_entries"), limits.maxEntries),
    hidden: given.flag("include_hidden", limits.includeHidden),
    files: given.flag("include_files", limits.includeFiles),
    dirs: given.flag("include_dirs", limits.includeDirs),
    symlinks: given.flag("include_symlinks", limits.includeSymlinks),
    other: given.flag("include_other", limits.includeOther),
  };
  if (!wanted.files && !wanted.dirs && !wanted.symlinks)
    throw badArguments("one of include_files, include_dirs and include_symlinks must be true");
  return wanted;
}

function depthOf(
  asked: number | undefined,
  { recursive, most }: { recursive: boolean; most: number },
): number {
  if (recursive) return capped("max_depth", asked, most);
  if (asked !== undefined && asked !== 1) throw badArguments("max_depth must be 1 unless recursive is true");
  return 1;
}

function capped(name: string, asked: number | undefined, most: number): number {
  if (asked === undefined || asked <= most) return asked ?? most;
  throw badArguments(`${name} must be at most ${most}`);
}
