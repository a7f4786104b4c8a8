import { type Attempt, CONTAINED, familyOf, limit, refused, signalled, TIMEOUT } from "../attempt.ts";

/** For what only the time ends: nothing is gained by waiting longer. */
const SHORT = { wallMs: 1500 };
/** Less than the five seconds after which it counts as come off. */
const STORM = { wallMs: 4000 };

const forks = familyOf("fork bombs");
const TOO_MANY = limit("processes");

export const FORK_BOMBS: Attempt[] = [
  forks.attack("one parent, many children", "fork_many", TOO_MANY, { core: true, bites: true }),
  forks.attack("every child forks on", "fork_doubling", TOO_MANY, { core: true }),
  forks.attack("daemons", "fork_daemons", TOO_MANY),
  forks.attack("threads", "thread_many", TOO_MANY, { bites: true }),
  forks.attack("children of init", "fork_siblings", TOO_MANY),
  forks.attack("zombies", "zombies", [CONTAINED, TOO_MANY]),
  forks.attack("a chain of vforks", "vfork_chain", [CONTAINED, TOO_MANY]),
  forks.attack("a storm of short lives", "fork_storm", [TIMEOUT, TOO_MANY, limit("cpu"), limit("memory")], {
    limits: STORM,
  }),
  forks.script("the shell's classic", 'bomb() { bomb | bomb & }; bomb; sleep 2; echo "CONTAINED the shell"', [
    TOO_MANY,
    CONTAINED,
  ]),
];

const memory = familyOf("memory bombs");
const TOO_MUCH = limit("memory");
const UNLIMITED_CPU = { cpuMs: 10_000 };

export const MEMORY_BOMBS: Attempt[] = [
  memory.attack("the heap", "memory_heap", TOO_MUCH, { core: true, bites: true }),
  memory.attack("private maps", "memory_map_private", TOO_MUCH),
  memory.attack("shared maps", "memory_map_shared", [TOO_MUCH, CONTAINED]),
  memory.attack("shared maps that are let go", "memory_shared_let_go", [TOO_MUCH, refused("ENOMEM")]),
  memory.attack("maps of /dev/zero that are let go", "memory_dev_zero_let_go", TOO_MUCH),
  memory.attack("threads that outlive the first", "memory_without_first_thread", TOO_MUCH),
  memory.attack("huge pages", "memory_huge_pages", refused("ENOMEM", "EINVAL", "EPERM")),
  memory.attack("locked pages", "memory_locked", refused("EPERM", "ENOMEM", "EAGAIN")),
  memory.attack("many children, each within bounds", "memory_children", TOO_MUCH, { core: true }),
  memory.attack("memory files", "memory_file", [TOO_MUCH, refused("ENOSYS")]),
  memory.attack("memory files under way in a socket", "memory_files_in_flight", [
    TOO_MUCH,
    refused("ENOSYS"),
    // While descriptors are under way, what others write to the disk counts as theirs.
    limit("disk"),
  ]),
  memory.attack("the stack", "memory_stack", [TOO_MUCH, signalled("SIGSEGV")]),
  memory.attack("System V segments nobody holds", "memory_system_v", [TOO_MUCH, CONTAINED]),
  memory.attack("messages nobody takes", "memory_messages", [TOO_MUCH, CONTAINED]),
  memory.attack("page tables", "memory_page_tables", TOO_MUCH),
  memory.attack("full sockets", "memory_sockets", [TOO_MUCH, CONTAINED]),
  memory.attack("full pipes", "memory_pipes", CONTAINED),
  memory.script(
    "files in /dev/shm",
    'for i in $(seq 40); do head -c 8000000 /dev/zero >/dev/shm/$i || break; done; s=$(du -sm /dev/shm | cut -f1); [ "$s" -gt 130 ] && echo ESCAPED; echo "CONTAINED $s MiB"',
    [CONTAINED, TOO_MUCH],
    { limits: UNLIMITED_CPU },
  ),
  memory.script(
    "files in /tmp",
    'for i in $(seq 40); do head -c 8000000 /dev/zero >/tmp/$i || break; done; s=$(du -sm /tmp | cut -f1); [ "$s" -gt 17 ] && echo ESCAPED; echo "CONTAINED $s MiB"',
    [CONTAINED, TOO_MUCH],
    { limits: UNLIMITED_CPU },
  ),
  memory.script(
    "the page cache",
    'cat /usr/bin/* >/dev/null 2>&1; cat /usr/lib/*/*.so* >/dev/null 2>&1; echo "CONTAINED the page cache"',
    [CONTAINED, TIMEOUT, limit("cpu")],
    { limits: SHORT },
  ),
];

const disk = familyOf("disk fillers");
const FULL = limit("disk");

export const DISK_FILLERS: Attempt[] = [
  disk.attack("many files in the workspace", ["fill_folder", "{workspace}"], FULL, {
    core: true,
    bites: true,
  }),
  disk.attack("many files in a copied workspace", ["fill_folder", "{workspace}"], FULL, {
    workspace: "copy",
  }),
  disk.attack("many files in a mounted folder", ["fill_folder", "{workspace}"], FULL, {
    workspace: "overlay",
  }),
  disk.attack("files without a name", ["fill_with_unlinked_files", "{workspace}"], FULL),
  disk.attack("files under way in a socket", "fill_files_in_flight", FULL),
  disk.attack("files that are only mapped", "fill_files_only_mapped", FULL),
  disk.attack("one large file", "fill_one_file", limit("fileSize"), { core: true, bites: true }),
  disk.attack("one large file, ignoring signals", "fill_one_file_ignoring_signals", refused("EFBIG")),
  disk.attack("a sparse file", "sparse_file", refused("EFBIG")),
  disk.attack("a reserved file", "reserve_file", refused("EFBIG", "EOPNOTSUPP")),
  disk.attack("room reserved beyond a file's end", "reserve_beyond_the_end", [
    FULL,
    refused("EOPNOTSUPP", "EFBIG", "EPERM"),
  ]),
  disk.attack("many reserved files", "reserve_many_files", FULL),
  disk.attack("the private /tmp", ["fill_folder", "/tmp"], refused("ENOSPC"), { core: true }),
  disk.attack("the private /var/tmp", ["fill_folder", "/var/tmp"], refused("ENOSPC")),
  disk.attack("shared memory", ["fill_folder", "/dev/shm"], [refused("ENOSPC"), limit("memory")]),
  disk.attack(
    "other places that can be written",
    ["fill_folder", "/dev"],
    refused("EROFS", "EACCES", "ENOENT", "EPERM"),
  ),
  disk.attack("links without end", "many_links", [FULL, refused("EMLINK"), TIMEOUT, limit("cpu")], {
    limits: SHORT,
  }),
  disk.attack(
    "empty files without end in the workspace",
    ["many_empty_files", "{workspace}"],
    [FULL, TIMEOUT, limit("cpu"), limit("memory")],
    { limits: SHORT },
  ),
  disk.attack(
    "empty files without end in /tmp",
    ["many_empty_files", "/tmp"],
    [limit("memory"), refused("ENOSPC"), TIMEOUT, limit("cpu")],
    { limits: SHORT },
  ),
  disk.attack("folders without end", "deep_folders", [CONTAINED, FULL]),
  disk.attack("copying up a large file", "copy_up_a_large_file", [FULL, refused("EFBIG")], {
    largeFileBytes: 48 * 1024 * 1024,
  }),
];

const processor = familyOf("processor time");
const USED_UP = limit("cpu");
const LITTLE = { cpuMs: 250 };

export const PROCESSOR_TIME: Attempt[] = [
  processor.attack("one burner that ignores signals", "burn_alone", USED_UP, {
    limits: LITTLE,
    core: true,
  }),
  processor.attack("threads", "burn_threads", USED_UP, { limits: LITTLE }),
  processor.attack("children", "burn_children", USED_UP, { limits: LITTLE }),
  processor.attack("daemons", "burn_daemons", USED_UP, { limits: LITTLE, core: true }),
  processor.attack("short lives that nobody waits for", "burn_in_short_lives", USED_UP, {
    limits: LITTLE,
  }),
  processor.attack("raising its own limits", "raise_own_limits", refused("EPERM", "EINVAL"), {
    limits: LITTLE,
  }),
  processor.script("a shell that spins", "while :; do :; done", USED_UP, { limits: LITTLE }),
];

const streams = familyOf("descriptors and output");

export const DESCRIPTORS: Attempt[] = [
  streams.attack("opening files without end", "open_many_files", refused("EMFILE"), {
    core: true,
    bites: true,
  }),
  streams.attack(
    "descriptors under way in a socket",
    "descriptors_under_way",
    refused("EAGAIN", "ETOOMANYREFS", "ENOBUFS"),
  ),
  streams.attack("flooding stdout", "flood_output", limit("output"), { core: true }),
  streams.attack("flooding stderr", "flood_errors", limit("output")),
  streams.attack("flooding both, ignoring signals", "flood_both_ignoring_signals", limit("output")),
  streams.script("a line without end", "yes | tr -d '\\n'", limit("output")),
];
