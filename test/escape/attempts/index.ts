import type { Attempt } from "../attempt.ts";
import { HIDDEN } from "./hidden.ts";
import { DEVICES, FILTER, KERNEL_CALLS, KEYRING, LAUNCHER } from "./kernel.ts";
import { KERNEL_FILES } from "./kernel-files.ts";
import { DESCRIPTORS, DISK_FILLERS, FORK_BOMBS, MEMORY_BOMBS, PROCESSOR_TIME } from "./limits.ts";
import { MOUNTS } from "./mounts.ts";
import { EGRESS, LEAKS, NETWORK } from "./network.ts";
import { PATHS } from "./paths.ts";
import { NAMESPACES, OTHER_PROCESSES, PRIVILEGES, SIGNALS, SURVIVORS, TERMINAL } from "./processes.ts";

/** Everything that is tried. */
export const CORPUS: readonly Attempt[] = [
  ...[PATHS, HIDDEN, KERNEL_FILES, MOUNTS],
  ...[OTHER_PROCESSES, SIGNALS, NAMESPACES, PRIVILEGES, DEVICES],
  ...[FORK_BOMBS, MEMORY_BOMBS, DISK_FILLERS, PROCESSOR_TIME, DESCRIPTORS],
  ...[NETWORK, EGRESS, LEAKS],
  ...[TERMINAL, KEYRING, KERNEL_CALLS, FILTER, SURVIVORS, LAUNCHER],
].flat();
