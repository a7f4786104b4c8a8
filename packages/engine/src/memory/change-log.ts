import type { Changes } from "../ports/changes.ts";

/** When each entry of a table changed last, counted in changes. A cursor is the number of changes that were told. */
export class ChangeLog {
  readonly #changedAt = new Map<string, number>();
  #changes = 0;

  note(key: string): void {
    this.#changes += 1;
    this.#changedAt.set(key, this.#changes);
  }

  /** Copies of the entries that changed after the cursor, in the table's order; all of them without one. */
  since<Kept, Changed>(
    cursor: string | undefined,
    table: ReadonlyMap<string, Kept>,
    recordOf: (kept: Kept) => Changed,
  ): Changes<Changed> {
    const after = Number(cursor ?? 0);
    const changed = [...table].filter(([key]) => (this.#changedAt.get(key) ?? 0) > after);
    const records = changed.map(([, kept]) => structuredClone(recordOf(kept)));
    return { changed: records, cursor: String(this.#changes) };
  }
}
