import type { Clock } from "@sallyport/engine/ports";
import type { StepHook } from "./durable.ts";
import type { EffectBounds } from "./effects.ts";
import type { SandboxUser, ScanUpper } from "./overlay-view.ts";
import type { LeftoverHook } from "./remove-tree.ts";

/** How workspaces are kept. */
export interface WorkspacesOptions {
  /** A folder of its own in the state folder; made (0700) when it is not there. One process uses it at a time. */
  folder: string;
  /** How long an applied call can be undone. 7 days. */
  keepMs?: number;
  /** How much disk pre-images may take together. 1 GiB. */
  keepBytes?: number;
  /** The largest workspace that is copied where no overlay is available. 256 MiB, 50,000 files. */
  copyLimitBytes?: number;
  copyLimitFiles?: number;
  /** How processes see a workspace. `auto`: an overlay where it works, else a copy. */
  view?: "auto" | "overlay" | "copy";
  /** Who will write in the views when this process is root. */
  sandboxUser?: SandboxUser;
  /** Asked once, for `auto`; the launcher's probe when left out. */
  overlayWorks?: () => Promise<boolean>;
  clock?: Clock;
  /** How much of the effects is kept with a call. */
  bounds?: Partial<EffectBounds>;
  /** Lists an overlay's upper folder; the launcher does when left out. */
  scan?: ScanUpper;
  /** Told of what could not be removed; a warning of the process when left out. */
  onLeftover?: LeftoverHook;
  /** For tests: called before each change of the disk. */
  onStep?: StepHook;
}

/** Options with everything decided. */
export type Settings = Required<Omit<WorkspacesOptions, "sandboxUser" | "bounds" | "onStep">> & {
  sandboxUser: SandboxUser | undefined;
  bounds: EffectBounds;
  step: StepHook;
};
