import { type FSWatcher, statSync, watch } from "node:fs";
import { dirname } from "node:path";
import type { CompiledPolicy } from "@sallyport/engine";
import { strictest } from "@sallyport/engine/host";
import type { Bus, Policy, PolicyRequest, PolicyVerdict } from "@sallyport/engine/ports";
import { type Failure, failure, isFailure } from "@sallyport/protocol";
import { loadPolicyFile } from "./load-policy.ts";

const DEBOUNCE_MS = 100;

interface Notices {
  onChange(): void;
  /** Told when the files cannot be watched (any more), or a change could not be used. */
  onProblem(problem: Failure): void;
}

/**
 * Watches the folders of the files, because editors and deployments replace a file, or a link to it, rather than write
 * to it. A burst of events is one change, and none when the files are what they were. Keeps no process alive.
 */
function watchFiles(files: readonly string[], { onChange, onProblem }: Notices): () => void {
  let known = signatureOf(files);
  let timer: NodeJS.Timeout | undefined;
  const look = () => {
    const now = signatureOf(files);
    if (now === known) return;
    known = now;
    onChange();
  };
  const soon = () => {
    clearTimeout(timer);
    timer = setTimeout(look, DEBOUNCE_MS);
  };
  const folders = [...new Set(files.map((file) => dirname(file)))];
  const watchers = folders.flatMap((folder) => watchFolder(folder, { onChange: soon, onProblem }) ?? []);
  return () => {
    clearTimeout(timer);
    for (const watcher of watchers) watcher.close();
  };
}

function watchFolder(folder: string, { onChange, onProblem }: Notices): FSWatcher | undefined {
  const failed = (error: unknown) => {
    const why = error instanceof Error ? error.message : String(error);
    onProblem(failure("E3223", { message: `Changes in ${folder} cannot be noticed: ${why}` }));
  };
  try {
    return watch(folder, { persistent: false }, onChange).on("error", failed);
  } catch (error) {
    failed(error);
    return undefined;
  }
}

/** Changes whenever a file is written, replaced, removed or linked to another. */
function signatureOf(files: readonly string[]): string {
  return files
    .map((file) => {
      const stat = statSync(file, { throwIfNoEntry: false });
      return stat ? `${stat.ino}:${stat.mtimeMs}:${stat.ctimeMs}:${stat.size}` : "gone";
    })
    .join("|");
}

export interface PolicyFilesOptions {
  /** Told on `policy:updates` when other rules are in force. */
  bus?: Bus;
}

/** A reload that worked, with the version of each file. */
export interface Reloaded {
  ok: true;
  versions: Record<string, string>;
}

/**
 * The rules files as one policy: the strictest word of all of them counts. New rules come into force all at once and
 * only when every file is right; until then the old ones stay.
 */
export class PolicyFiles implements Policy {
  readonly name = "rules";
  readonly files: readonly string[];
  readonly #bus: Bus | undefined;
  #policies: readonly CompiledPolicy[];

  constructor(
    files: readonly string[],
    policies: readonly CompiledPolicy[],
    { bus }: PolicyFilesOptions = {},
  ) {
    this.files = files;
    this.#policies = policies;
    this.#bus = bus;
  }

  /** The rules in force, in the order of the files. */
  get policies(): readonly CompiledPolicy[] {
    return this.#policies;
  }

  decide(request: PolicyRequest): PolicyVerdict {
    return strictest(this.#policies.map((policy) => policy.decide(request)));
  }

  /** Reads the files again. Refused (E3223) when any of them is wrong: then nothing changes. */
  reload(): Reloaded | Failure {
    const policies = loadAll(this.files);
    if (isFailure(policies)) return policies;
    this.#policies = policies;
    this.#bus?.publish("policy:updates", {});
    return { ok: true, versions: versionsOf(this.files, policies) };
  }

  /** Reloads whenever a file changes, until the returned function is called. */
  watch({
    onReload,
    onProblem,
  }: { onReload(done: Reloaded): void } & Pick<Notices, "onProblem">): () => void {
    const onChange = () => {
      const done = this.reload();
      if (isFailure(done)) onProblem(done);
      else onReload(done);
    };
    return watchFiles(this.files, { onChange, onProblem });
  }
}

/** Opens the rules files; undefined when there are none, which is to have no opinion. Refused (E3223) when one is wrong. */
export function openPolicyFiles(
  files: readonly string[],
  options: PolicyFilesOptions = {},
): PolicyFiles | Failure | undefined {
  if (files.length === 0) return undefined;
  const policies = loadAll(files);
  return isFailure(policies) ? policies : new PolicyFiles(files, policies, options);
}

/** All of them, or everything that is wrong with any. */
function loadAll(files: readonly string[]): CompiledPolicy[] | Failure {
  const loaded = files.map(loadPolicyFile);
  const failures = loaded.filter(isFailure);
  const [first] = failures;
  if (!first) return loaded.filter((policy): policy is CompiledPolicy => !isFailure(policy));
  if (failures.length === 1) return first;
  const issues = failures.flatMap((failed) => failed.issues ?? []);
  return failure("E3223", { message: `${failures.length} policy files are wrong.`, issues });
}

function versionsOf(files: readonly string[], policies: readonly CompiledPolicy[]): Record<string, string> {
  return Object.fromEntries(policies.map(({ version }, index) => [files[index] ?? "", version]));
}
