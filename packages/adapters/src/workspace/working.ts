import { join } from "node:path";
import type { WorkspaceView } from "@sallyport/engine";
import { type Anchor, anchored } from "./anchor.ts";
import type { Baseline } from "./baseline.ts";
import type { ChangeSet } from "./change.ts";
import { changeSetOf } from "./change-set.ts";
import { copyEntries } from "./copy-entries.ts";
import { type Copied, makeCopy } from "./copy-view.ts";
import type { DeniedTest } from "./denied-paths.ts";
import { outOfTurn } from "./failures.ts";
import type { HeldChanges } from "./held.ts";
import type { House } from "./house.ts";
import { OverlayBaseline } from "./overlay-baseline.ts";
import { makeOverlay, overlayEntries } from "./overlay-view.ts";
import { RememberedBaseline } from "./remembered-baseline.ts";
import type { StagedEntry } from "./staged-entry.ts";
import type { StagedFiles } from "./staged-files.ts";

type Overlay = { view: WorkspaceView & { kind: "overlay" }; since: string };
type Copy = { view: WorkspaceView & { kind: "copy" }; copied: Map<string, Copied> };

/** What one call works with. */
export interface WorkingOrder {
  house: House;
  root: string;
  isDenied: DeniedTest;
  /** The staging's own. */
  folder: string;
  files: StagedFiles;
  held: HeldChanges | undefined;
}

/**
 * The one way in which a call changes files: here in this process, or in a view. Never both: what was staged here would
 * not be seen in a view, and what a process does there not here. Whichever comes first decides.
 */
export class Working {
  readonly #order: WorkingOrder;
  #view: Overlay | Copy | undefined;
  /** What a process left is worked out once, when it has ended; from then on it is fixed. */
  #fixed: ChangeSet | undefined;
  /** What was worked out last, as long as the call changes nothing more. */
  #latest: { set: ChangeSet; edits: number } | undefined;

  constructor(order: WorkingOrder) {
    this.#order = order;
    this.#fixed = order.held?.set;
  }

  async view(): Promise<WorkspaceView> {
    if (this.#fixed)
      throw outOfTurn("The changes have been worked out; no process may change them any more.");
    if (!this.#order.files.isUnchanged)
      throw outOfTurn("Files of this call were changed in this process; a process would not see that.");
    this.#view ??= await this.#make();
    return this.#view.view;
  }

  /** Throws when the files may not be used in this process. */
  guardFiles(use: "read" | "change"): void {
    if (this.#view) throw outOfTurn("The files of this call are in the hands of a process.");
    if (this.#fixed && use === "change") throw outOfTurn("Held changes cannot be added to.");
  }

  /** Everything that changes; none when nothing was used. */
  async changes(): Promise<ChangeSet> {
    if (this.#fixed) return this.#fixed;
    if (!this.#view && this.#order.files.isUnchanged)
      return { changes: [], denied: [], conflicts: [], bytes: 0, leaders: [] };
    const { root, isDenied, files } = this.#order;
    const { edits } = files;
    if (this.#latest?.edits === edits) return this.#latest.set;
    const entries = await this.#entries();
    const set = await anchored(root, (anchor) =>
      changeSetOf({ entries, anchor, baseline: this.#baseline(anchor), isDenied }),
    );
    if (this.#view) this.#fixed = set;
    else this.#latest = { set, edits };
    return set;
  }

  async #make(): Promise<Overlay | Copy> {
    const { house, root, folder, isDenied } = this.#order;
    const { sandboxUser: user, copyLimitBytes, copyLimitFiles } = house.settings;
    if (await house.usesOverlay()) return (await makeOverlay(folder, root, user)) as Overlay;
    const copy = join(folder, "copy");
    const limits = { limitBytes: copyLimitBytes, limitFiles: copyLimitFiles };
    const copied = await makeCopy({ root, target: copy, isDenied, user, ...limits });
    return { view: { kind: "copy", root, copy }, copied };
  }

  #entries(): Promise<StagedEntry[]> {
    const view = this.#view;
    if (!view) return Promise.resolve(this.#order.files.entries());
    if ("since" in view) return overlayEntries(view.view.upper, this.#order.house.settings.scan);
    return copyEntries(view.view.copy, view.copied);
  }

  #baseline(anchor: Anchor): Baseline {
    const view = this.#view;
    if (!view) return new RememberedBaseline(anchor, this.#order.files.memory);
    if ("since" in view) return new OverlayBaseline(anchor, view.since, this.#order.house.log);
    const originals = new Map([...view.copied].map(([path, { original }]) => [path, original]));
    return new RememberedBaseline(anchor, originals);
  }
}
