export { DEFAULT_DENIED } from "./denied-paths.ts";
export type { StepHook } from "./durable.ts";
export type { EffectBounds } from "./effects.ts";
export { openWorkspaces } from "./open-workspaces.ts";
export type { WorkspacesOptions } from "./options.ts";
export type { SandboxUser, ScanUpper } from "./overlay-view.ts";
