import type { Anchor } from "./anchor.ts";
import { type Baseline, sameStamp, whatChanged } from "./baseline.ts";
import { type Entry, hashAt, type KnownEntry } from "./entry.ts";

/** What was there when the call first looked, as far as it is known. */
export type Remembered = Pick<Entry, "type" | "mode" | "inode" | "mtimeNs" | "ctimeNs"> &
  Partial<Pick<KnownEntry, "bytes" | "sha256" | "target">>;

/** By path; what is not in it was not there. */
export type Memory = ReadonlyMap<string, Remembered | undefined>;

/** Tells others' changes by what the call found: of a copied view, or of files used in this process. */
export class RememberedBaseline implements Baseline {
  readonly #anchor: Anchor;
  readonly #memory: Memory;

  constructor(anchor: Anchor, memory: Memory) {
    this.#anchor = anchor;
    this.#memory = memory;
  }

  async objection(path: string, now: Entry | undefined): Promise<string | undefined> {
    const before = this.#memory.get(path);
    if (before === undefined && now === undefined) return undefined;
    if (before && now && (await this.#isStill(path, before, now))) return undefined;
    return whatChanged(before, now);
  }

  /** Its bits and content are what they were; by its stamps where the content was not read then. */
  async #isStill(path: string, before: Remembered, now: Entry): Promise<boolean> {
    if (before.type !== now.type || before.mode !== now.mode) return false;
    if (before.type === "symlink") return before.target === now.target;
    if (before.type !== "file" || before.sha256 === undefined) return sameStamp(before, now);
    return before.sha256 === (now.sha256 ?? (await hashAt(this.#anchor, path, now)));
  }
}
