import { redactText } from "../redact/redact.ts";

/** A use of a capability, as the record keeps it. */
export interface CapabilityUsed {
  capability: string;
  /** What it was used for; left out: nothing in particular. */
  action?: string | undefined;
  /** What it was used on: a key, a path, a host. */
  resource?: string | undefined;
}

/** The uses of one capability for one action. The fields are in the order of canonical JSON. */
export interface UseEntry {
  action?: string;
  capability: string;
  /** What it was first used on. */
  first?: string;
  /** What it was last used on, where that differs. */
  last?: string;
  uses: number;
}

const MAX_ENTRIES = 64;
const MAX_RESOURCE_CHARS = 200;

interface Counted extends CapabilityUsed {
  last?: string | undefined;
  uses: number;
}

/** Every use a tool made while it ran, counted by capability and action; bounded, whatever the tool does. */
export class UseLog {
  #counted: Map<string, Counted> | undefined;
  #more = 0;

  /** Uses that belong to none of the entries, because there were too many kinds of them. */
  get more(): number {
    return this.#more;
  }

  add({ capability, action, resource }: CapabilityUsed): void {
    this.#counted ??= new Map();
    const kind = action === undefined ? capability : `${capability}\n${action}`;
    const known = this.#counted.get(kind);
    if (known) {
      known.uses += 1;
      known.last = resource ?? known.last;
    } else if (this.#counted.size < MAX_ENTRIES) {
      this.#counted.set(kind, { capability, action, resource, uses: 1 });
    } else {
      this.#more += 1;
    }
  }

  /** In the order of first use, fit for the record: bounded texts without credentials. */
  entries(): UseEntry[] {
    return [...(this.#counted?.values() ?? [])].map(({ capability, action, resource, last, uses }) => ({
      ...(action !== undefined && { action: fitForRecord(action) }),
      capability: fitForRecord(capability),
      ...(resource !== undefined && { first: fitForRecord(resource) }),
      ...(last !== undefined && last !== resource && { last: fitForRecord(last) }),
      uses,
    }));
  }
}

/** A tool's own text as it may be kept: short, whole characters, without credentials. */
export function fitForRecord(text: string): string {
  return redactText(text).slice(0, MAX_RESOURCE_CHARS).toWellFormed();
}
