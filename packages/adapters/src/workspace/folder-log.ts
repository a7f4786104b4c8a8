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
  /** By folder, the one that changed last at the end. */
  readonly #notes = new Map<string, Note[]>();
  #count = 0;

  add(note: Note): void {
    const notes = this.#notes.get(note.folder) ?? [];
    notes.push(note);
    this.#notes.delete(note.folder);
    this.#notes.set(note.folder, notes);
    this.#count += 1;
    if (this.#count > MOST_NOTES) this.#forgetOne();
  }

  /** Whether all that happened in a folder since then was ours, and none of it to that name. */
  spares(entry: { folder: string; name: string }, span: { since: bigint; now: string }): boolean {
    const notes = this.#notes.get(entry.folder) ?? [];
    let at = span.now;
    for (let index = notes.length - 1; index >= 0; index -= 1) {
      const note = notes[index];
      if (note?.to !== at) continue;
      if (note.names.has(entry.name)) return false;
      at = note.from;
      if (BigInt(at) <= span.since) return true;
    }
    return false;
  }

  /** A note that is missing makes a change look like someone else's, which is safe. */
  #forgetOne(): void {
    for (const [folder, notes] of this.#notes) {
      notes.shift();
      if (notes.length === 0) this.#notes.delete(folder);
      this.#count -= 1;
      return;
    }
  }
}
