const MOST_NOTES = 5_000;

interface Note {
  /** Absolute. */
  folder: string;
  /** The folder's time of change right before and right after. */
  from: string;
  to: string;
  names: ReadonlySet<string>;
}

/**
 * What we ourselves lately did to folders, so that one call's commit is not taken for an unknown change in the folder by
 * another that runs beside it.
 */
export class FolderLog {
  readonly #notes: Note[] = [];

  add(note: Note): void {
    this.#notes.push(note);
    if (this.#notes.length > MOST_NOTES) this.#notes.shift();
  }

  /** Whether all that happened in a folder since then was ours, and none of it to that name. */
  spares(entry: { folder: string; name: string }, span: { since: bigint; now: string }): boolean {
    let at = span.now;
    for (const note of this.#notes.toReversed()) {
      if (note.folder !== entry.folder || note.to !== at) continue;
      if (note.names.has(entry.name)) return false;
      at = note.from;
      if (BigInt(at) <= span.since) return true;
    }
    return false;
  }
}
