import { join } from "node:path";
import type { WorkspaceView } from "@sallyport/engine/ports";
import { type Anchor, anchored } from "./anchor.ts";
import { type Baseline, EDITED } from "./baseline.ts";
import type { ChangeSet } from "./change.ts";
import { changeSetOf } from "./change-set.ts";
import { copyEntries } from "./copy-entries.ts";
import { type Copied, makeCopy } from "./copy-view.ts";
import type { DeniedTest } from "./denied-paths.ts";
import { type Entry, look } from "./entry.ts";
import { outOfTurn } from "./failures.ts";
import type { FolderLog } from "./folder-log.ts";
import type { HeldChanges } from "./held.ts";
import { makeOverlay, overlayEntries } from "./overlay-view.ts";
import { folderOf, nameOf } from "./relative-path.ts";
import { RememberedBaseline } from "./remembered-baseline.ts";
import type { StagedEntry } from "./staged-entry.ts";
import type { StagedFiles } from "./staged-files.ts";
import type { WorkspaceContext } from "./workspace-context.ts";

const FOLDER_CHANGED = "its folder was changed by someone else, so it may have been there before";

/**
 * Tells others' changes by times alone: the tree is never walked when a view is made, whatever its size. The kernel
 * stamps every change of a file, its bits or its name (ctime) and every change of what is in a folder (mtime); whatever
 * has a later stamp than the view's own folder changed while the call ran.
 */
class OverlayBaseline implements Baseline {
  readonly #anchor: Anchor;
  readonly #since: bigint;
  readonly #log: FolderLog;
  /** Of folders that are not there: the same for all that is in them. */
  readonly #absences = new Map<string, Promise<string | undefined>>();

  constructor(anchor: Anchor, since: string, log: FolderLog) {
    this.#anchor = anchor;
    this.#since = BigInt(since);
    this.#log = log;
  }

  async objection(path: string, now: Entry | undefined): Promise<string | undefined> {
    if (now) return BigInt(now.ctimeNs) > this.#since ? EDITED : undefined;
    return this.#absence(path);
  }

  /** Nothing is there; was nothing there before? Yes when nothing happened in the nearest folder that is there. */
  async #absence(path: string): Promise<string | undefined> {
    const folder = folderOf(path);
    const parent = folder === "" ? await this.#root() : await look(this.#anchor, folder);
    if (parent === undefined) {
      const known = this.#absences.get(folder) ?? this.#absence(folder);
      this.#absences.set(folder, known);
      return known;
    }
    // A file where the call made a folder: that is for the folder's own path to say.
    if (parent.type !== "folder" || BigInt(parent.mtimeNs) <= this.#since) return undefined;
    const place = { folder: join(this.#anchor.root, folder), name: nameOf(path) };
    return this.#log.spares(place, { since: this.#since, now: parent.mtimeNs }) ? undefined : FOLDER_CHANGED;
  }

  async #root(): Promise<Entry | undefined> {
    return look(this.#anchor, ".");
  }
}

type Overlay = { view: WorkspaceView & { kind: "overlay" }; since: string };
type Copy = { view: WorkspaceView & { kind: "copy" }; copied: Map<string, Copied> };

/** What one call works with. */
interface WorkingOrder {
  context: WorkspaceContext;
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
    const { context, root, folder, isDenied } = this.#order;
    const { sandboxUser: user, copyLimitBytes, copyLimitFiles } = context.settings;
    if (await context.usesOverlay()) return (await makeOverlay(folder, root, user)) as Overlay;
    const copy = join(folder, "copy");
    const limits = { limitBytes: copyLimitBytes, limitFiles: copyLimitFiles };
    const copied = await makeCopy({ root, target: copy, isDenied, user, ...limits });
    return { view: { kind: "copy", root, copy }, copied };
  }

  #entries(): Promise<StagedEntry[]> {
    const view = this.#view;
    if (!view) return Promise.resolve(this.#order.files.entries());
    if ("since" in view) return overlayEntries(view.view.upper, this.#order.context.settings.scan);
    return copyEntries(view.view.copy, view.copied);
  }

  #baseline(anchor: Anchor): Baseline {
    const view = this.#view;
    if (!view) return new RememberedBaseline(anchor, this.#order.files.memory);
    if ("since" in view) return new OverlayBaseline(anchor, view.since, this.#order.context.log);
    const originals = new Map([...view.copied].map(([path, { original }]) => [path, original]));
    return new RememberedBaseline(anchor, originals);
  }
}
