import { ChangeFollower } from "../../change-follower.ts";
import type { GrantReader } from "../../ports/grants.ts";
import type { GrantIndex } from "./grant-index.ts";

/** Keeps the grant index like the store, whatever happens to the hints. */
export class GrantFollower {
  readonly #index: GrantIndex;
  readonly #changes: ChangeFollower<Parameters<GrantIndex["take"]>[0]>;

  constructor(index: GrantIndex, grants: GrantReader) {
    this.#index = index;
    this.#changes = new ChangeFollower(
      (cursor) => grants.changedSince(cursor),
      (changed) => {
        for (const record of changed) index.take(record);
      },
    );
  }

  /**
   * A hint that these grants, or any, have changed: they count for nothing until that is read, and stay so while it
   * cannot be: a lost store denies. Never rejects.
   */
  async heard(grantIds?: readonly string[]): Promise<void> {
    this.#index.doubt(grantIds);
    await this.catchUp().catch(() => undefined);
  }

  /** Takes over what has changed, and ends the doubts there were. Rejects when the store cannot be read. */
  async catchUp(): Promise<void> {
    const endDoubts = this.#index.beforeReading();
    await this.#changes.catchUp();
    endDoubts();
  }
}
