export { copyAttributes, listAttributes } from "./file-attributes.ts";
export { type FoundLauncher, findLauncher, type LauncherPlace, launcherPlace } from "./find-launcher.ts";
export { type InitOptions, initArgv, type RlimitName } from "./init-argv.ts";
export type { LauncherEnding, LauncherHow, RefusedSyscall, WatchedLimit } from "./launcher-report.ts";
export { type HostFacts, type ProbeOptions, probeHost } from "./probe-host.ts";
export { type ScanOptions, scanUpper } from "./scan-upper.ts";
export { type LauncherEnd, type Supervised, type SuperviseHost, supervise } from "./supervise.ts";
export {
  type HostUser,
  type OverlayMount,
  type SuperviseOptions,
  superviseArgv,
  type Watch,
} from "./supervise-argv.ts";
export type { UpperEntry, UpperType } from "./upper-entry.ts";
