import { Range } from "semver";

const MAX_RANGES = 1_000;
const MAX_VERSIONS = 100;

interface Entry {
  range: Range;
  /** What was found out about the versions asked for. */
  versions: Map<string, boolean>;
}

/** Which versions are in which range. Remembers, because tokens name the same few over and over. */
export class VersionRanges {
  readonly #entries = new Map<string, Entry>();

  /** Whether the text is a SemVer range. White space alone is none, although SemVer takes it for any version. */
  isRange(text: string): boolean {
    return this.#entry(text) !== undefined;
  }

  /** Whether the version is in the range; false when either is none. */
  holds(text: string, version: string): boolean {
    const entry = this.#entry(text);
    if (!entry) return false;
    const known = entry.versions.get(version);
    if (known !== undefined) return known;
    const holds = entry.range.test(version);
    if (entry.versions.size >= MAX_VERSIONS) entry.versions.clear();
    entry.versions.set(version, holds);
    return holds;
  }

  #entry(text: string): Entry | undefined {
    const known = this.#entries.get(text);
    if (known) return known;
    const range = text.trim() === "" ? undefined : parse(text);
    if (!range) return undefined;
    const entry = { range, versions: new Map<string, boolean>() };
    if (this.#entries.size >= MAX_RANGES) this.#entries.clear();
    this.#entries.set(text, entry);
    return entry;
  }
}

function parse(text: string): Range | undefined {
  try {
    return new Range(text);
  } catch {
    return undefined;
  }
}
