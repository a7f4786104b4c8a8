import type { FileEffects, RollbackProof } from "@sallyport/protocol";
import type { StateWrites } from "../ports/state.ts";
import type { ApplyOrder, FileCommit, FileStaging } from "../ports/workspace.ts";
import type { StateTransaction } from "./state-transaction.ts";

/** An execution's changes as its lifecycle sees them (R1-4.3): made inside one transaction, kept or dropped as a whole. */
export type Transaction = Pick<EffectTransaction, "isActive" | "writes" | "commit" | "rollback">;

/**
 * Everything one execution changes: the tool's state and, where it has a workspace, its files. The files are applied
 * just before the unit of work that records the outcome, with what is needed to take them back; a crash in between is
 * settled by the record.
 */
export class EffectTransaction {
  readonly state: StateTransaction;
  readonly files: FileStaging | undefined;
  /** What was applied, once it was. */
  effects: FileEffects | undefined;

  /** State changes of an earlier try-out, which this execution commits instead of its own. */
  readonly #held: StateWrites | undefined;

  constructor(state: StateTransaction, files?: FileStaging, held?: StateWrites) {
    this.state = state;
    this.files = files;
    this.#held = held;
  }

  isActive(): boolean {
    return this.state.isActive();
  }

  writes(): StateWrites | undefined {
    return this.#held ?? this.state.writes();
  }

  /** Puts the staged changes into the workspace, all or none; undefined when there is no workspace. */
  async applyFiles(order: ApplyOrder): Promise<FileCommit | undefined> {
    const applied = await this.files?.apply(order);
    if (applied?.ok) this.effects = applied.effects;
    return applied;
  }

  /** The outcome is on record: only what a later undo needs is kept. Rejects when that could not be tidied up. */
  async commit(): Promise<void> {
    this.state.commit();
    await this.files?.keep();
  }

  /** Nobody knows whether the outcome is on record: gives the snapshot back, and leaves the files to recovery. */
  abandon(): void {
    this.state.commit();
  }

  /** Rejects when files or state cannot be looked at; either way the transaction has ended. */
  async rollback(): Promise<RollbackProof> {
    const [undone, proved] = await Promise.allSettled([this.files?.rollback(), this.state.rollback()]);
    if (undone.status === "rejected") throw undone.reason;
    if (proved.status === "rejected") throw proved.reason;
    const files = undone.value;
    const proof = proved.value;
    if (!files) return proof;
    const { verified, hash, discarded } = files;
    return { ...proof, verified: proof.verified && verified, files: { verified, hash, discarded } };
  }
}
