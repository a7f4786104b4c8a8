import { randomUUID } from "node:crypto";
import { join, relative } from "node:path";
import type {
  ApplyOrder,
  FileAccess,
  FileCommit,
  FileRollback,
  FileStaging,
  WorkspaceRules,
  WorkspaceView,
} from "@sallyport/engine/ports";
import { type FileEffects, SallyportError } from "@sallyport/protocol";
import { anchored } from "./anchor.ts";
import type { ChangeSet } from "./change.ts";
import { type Committed, commit } from "./commit.ts";
import { compileDenied } from "./denied-paths.ts";
import { privateFolder } from "./durable.ts";
import { effectsOf } from "./effects.ts";
import { type Entry, lookInto } from "./entry.ts";
import { notCommitted, outOfTurn, tooMuch } from "./failures.ts";
import { type HeldChanges, heldAs, saveHeld } from "./held.ts";
import { Queue } from "./in-turn.ts";
import { keyOf, type Plan, type PlannedFolder } from "./plan.ts";
import { digestOf, proofOf } from "./proof.ts";
import { bytesOf, timesNow, writeStatus } from "./records.ts";
import { StagedFiles } from "./staged-files.ts";
import { twice } from "./system-error.ts";
import { takeBack } from "./take-back.ts";
import { Working } from "./working.ts";
import { recordOf, stagingFolder, type WorkspaceContext } from "./workspace-context.ts";

/** What a staging is for. */
export interface StagingOrder {
  callId: string;
  rules: WorkspaceRules;
  maxBytes: number;
}

type Phase = "staged" | "applied" | "kept" | "rolled back" | "held";

/** Nothing was touched: the proof of that. */
const NOTHING: FileRollback = { verified: true, hash: proofOf(new Map()), discarded: 0, left: [] };

/** One call's changes to files, from the first to the last moment. */
export class Staging implements FileStaging {
  readonly callId: string;
  readonly root: string;
  readonly files: FileAccess;
  readonly #context: WorkspaceContext;
  readonly #order: StagingOrder;
  readonly #folder: string;
  readonly #working: Working;
  readonly #held: HeldChanges | undefined;
  readonly #queue = new Queue();
  #phase: Phase = "staged";
  /** A plan that may be carried out in part: every error after it is half done until a look proves otherwise. */
  #begun: Plan | undefined;
  #ended: FileRollback | undefined;
  #shown: { set: ChangeSet; effects: FileEffects } | undefined;
  #applied: { plan: Plan; times: PlannedFolder[] } | undefined;

  constructor(context: WorkspaceContext, order: StagingOrder, held?: HeldChanges) {
    this.callId = order.callId;
    this.root = order.rules.root;
    this.#context = context;
    this.#order = order;
    this.#held = held;
    this.#folder = join(stagingFolder(context), `${keyOf(order.callId)}.${randomUUID().slice(0, 8)}`);
    const isDenied = compileDenied([...order.rules.denied, ...stateFolderIn(this.root, context)]);
    const guard = (use: "read" | "change") => this.#guardFiles(use);
    const now = () => context.settings.clock.now();
    const { root } = this;
    const folder = join(this.#folder, "files");
    const files = new StagedFiles({ root, isDenied, maxBytes: order.maxBytes, folder, now, guard });
    this.files = files;
    this.#working = new Working({ context, root, isDenied, folder: this.#folder, files, held });
    context.active.add(this.#folder);
  }

  view(): Promise<WorkspaceView> {
    return this.#in("staged", async () => {
      await privateFolder(this.#folder);
      return this.#working.view();
    });
  }

  effects(): Promise<FileEffects> {
    return this.#queue.run(async () => {
      if (this.#phase !== "staged") throw outOfTurn(`The changes of call ${this.callId} are ${this.#phase}.`);
      return this.#show(await this.#bounded());
    });
  }

  apply(order: ApplyOrder = {}): Promise<FileCommit> {
    return this.#in("staged", async () => {
      try {
        return await this.#context.turns.run(this.root, () => this.#apply(order));
      } catch (error) {
        throw error instanceof SallyportError ? error : notCommitted(this.root, error);
      }
    });
  }

  keep(): Promise<void> {
    return this.#in("applied", async () => {
      const { settings } = this.#context;
      if (this.#applied) {
        const { plan, times } = this.#applied;
        const status = { state: "kept", at: settings.clock.now(), bytes: bytesOf(plan), times } as const;
        settings.step("write that it is kept");
        // Not forced to disk: lost in a crash, `recover` finds the call done and writes it again.
        await writeStatus(this.#record(), status, { sync: false });
      }
      this.#phase = "kept";
      await this.#letGo();
    });
  }

  rollback(): Promise<FileRollback> {
    return this.#queue.run(async () => {
      if (this.#ended) return this.#ended;
      if (this.#phase === "kept" || this.#phase === "held")
        throw outOfTurn(`The changes of call ${this.callId} are ${this.#phase}.`);
      this.#ended = await this.#takeBack();
      this.#phase = "rolled back";
      await this.#letGo();
      return this.#ended;
    });
  }

  hold(name: string): Promise<void> {
    return this.#in("staged", async () => {
      const set = await this.#bounded();
      const effects = await this.#show(set);
      const { small: _, ...lasting } = set;
      const { rules, maxBytes } = this.#order;
      await saveHeld(this.#context, {
        version: 1,
        name,
        rules,
        maxBytes,
        set: structuredClone(lasting),
        effects,
      });
      this.#phase = "held";
      if (this.#held?.name !== name) await this.#letGo();
      else this.#forget();
    });
  }

  async #apply(order: ApplyOrder): Promise<FileCommit> {
    const set = await this.#bounded();
    const denied =
      this.#order.rules.writable || set.changes.length === 0 ? set.denied : [readOnly, ...set.denied];
    if (denied.length > 0) return { ok: false, denied };
    if (set.conflicts.length > 0) return { ok: false, conflicts: set.conflicts };
    const effects = await this.#show(set);
    if (set.changes.length > 0) {
      const committed = await this.#commit(set, order);
      if (!committed.ok) return committed;
      const { plan } = committed;
      // From here on the files are in place, whatever fails: a rollback has to take them back.
      this.#applied = { plan, times: [] };
      this.#phase = "applied";
      const times = twice(() => anchored(this.root, (anchor) => timesNow(anchor, plan)));
      // Unknown times count as changed by others: a later undo then leaves them alone.
      this.#applied.times = await times.catch(() => []);
    }
    this.#phase = "applied";
    return { ok: true, effects };
  }

  #commit(set: ChangeSet, { runId }: ApplyOrder): Promise<Committed> {
    const { log, settings } = this.#context;
    const plan = {
      purpose: "call",
      callId: this.callId,
      key: keyOf(this.callId),
      root: this.root,
      at: settings.clock.now(),
      digest: digestOf(set.changes),
      ...(this.#held && { held: this.#held.name }),
      ...(runId !== undefined && { runId }),
    } as const;
    this.#context.active.add(this.#record());
    const onRecord = (begun: Plan | undefined) => {
      this.#begun = begun;
    };
    return commit({ set, plan, record: this.#record(), log, step: settings.step, onRecord });
  }

  async #takeBack(): Promise<FileRollback> {
    const applied = this.#applied ?? (this.#begun && { plan: this.#begun });
    if (!applied) return this.#phase === "applied" ? NOTHING : this.#discard();
    return this.#context.turns.run(this.root, () => takeBack(this.#context, this.#record(), applied));
  }

  /** Nothing real was changed; what was staged goes. */
  async #discard(): Promise<FileRollback> {
    // Changes that cannot be read any more are dropped like the others, only not counted.
    const set = await this.#working.changes().catch(() => undefined);
    if (!set || set.changes.length === 0) return NOTHING;
    const now = new Map<string, Entry | undefined>();
    const looked = anchored(this.root, async (anchor) => {
      for (const { path } of set.changes) now.set(path, await lookInto(anchor, path));
    });
    // No plan was written, so nothing was changed: the hash then covers what could be looked at.
    await looked.catch(() => undefined);
    return { verified: true, hash: proofOf(now), discarded: set.changes.length, left: [] };
  }

  async #bounded(): Promise<ChangeSet> {
    const { maxBytes } = this.#order;
    const set = await this.#working.changes();
    if (set.bytes <= maxBytes) return set;
    const message = `The call changed ${set.bytes} bytes of files; it may change at most ${maxBytes}.`;
    throw tooMuch(message, { limit: "disk", allowed: maxBytes });
  }

  async #show(set: ChangeSet): Promise<FileEffects> {
    if (this.#held) return this.#held.effects;
    if (this.#shown?.set === set) return this.#shown.effects;
    const { bounds } = this.#context.settings;
    const effects = await anchored(this.root, (anchor) => effectsOf(set, anchor, bounds));
    this.#shown = { set, effects };
    return effects;
  }

  #record(): string {
    return recordOf(this.#context, this.callId);
  }

  #guardFiles(use: "read" | "change"): void {
    if (this.#phase !== "staged")
      throw outOfTurn(`The files of call ${this.callId} cannot be used: its changes are ${this.#phase}.`);
    this.#working.guardFiles(use);
  }

  #in<T>(phase: Phase, work: () => Promise<T>): Promise<T> {
    return this.#queue.run(async () => {
      if (this.#phase === phase) return work();
      throw outOfTurn(`The changes of call ${this.callId} are ${this.#phase}, not ${phase}.`);
    });
  }

  async #letGo(): Promise<void> {
    this.#context.settings.step("drop the staging");
    if (this.#held) await this.#context.drop(heldAs(this.#context, this.#held.name));
    await this.#context.drop(this.#folder);
    this.#forget();
  }

  #forget(): void {
    this.#context.active.delete(this.#folder);
    this.#context.active.delete(this.#record());
  }
}

const readOnly = { path: ".", why: "is in a workspace that may only be read" };

/** The state folder is nobody's to change, wherever it is. */
function stateFolderIn(root: string, { settings }: WorkspaceContext): string[] {
  const path = relative(root, settings.folder);
  if (path === "") return ["**"];
  return path === ".." || path.startsWith("../")
    ? []
    : [path.replaceAll(/[*?]/g, "?"), `${path.replaceAll(/[*?]/g, "?")}/**`];
}
