import type { Anchor } from "../workspace/anchor.ts";
import { look } from "../workspace/entry.ts";
import { openToRead, using } from "../workspace/file-content.ts";
import { nameOf } from "../workspace/relative-path.ts";
import type { ReadableFiles } from "./workspace-file.ts";

/** The workspace as it is now, for looking only; links are not followed. */
export function realFiles(anchor: Anchor): ReadableFiles {
  return {
    async stat(relative) {
      const entry = await look(anchor, relative);
      if (!entry) return undefined;
      const { type, bytes = 0, mode, mtimeNs } = entry;
      const modifiedAt = Number(BigInt(mtimeNs) / 1_000_000n);
      return { name: nameOf(relative), type, bytes, mode, modifiedAt };
    },
    async read(relative) {
      return using(await anchor.at(relative, openToRead), (handle) => handle.readFile());
    },
  };
}
