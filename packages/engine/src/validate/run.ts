import type { Issue, JsonValue } from "@sallyport/protocol";
import { pointTo } from "../match/document.ts";
import type { SchemaResource } from "./schema-walk.ts";

/** Kinds of values, to be combined: a keyword says which of them it is about. */
export const KIND = {
  null: 1,
  boolean: 2,
  integer: 4,
  number: 4 | 8,
  string: 16,
  array: 32,
  object: 64,
  any: 127,
} as const;

const FRACTION = KIND.number & ~KIND.integer;

/** The kind of a value; 0 for what JSON cannot hold. */
export function kindOf(value: unknown): number {
  switch (typeof value) {
    case "string":
      return KIND.string;
    case "number":
      if (Number.isInteger(value)) return KIND.integer;
      return Number.isFinite(value) ? FRACTION : 0;
    case "boolean":
      return KIND.boolean;
    case "object":
      if (value === null) return KIND.null;
      return Array.isArray(value) ? KIND.array : KIND.object;
    default:
      return 0;
  }
}

/** The property names or item positions that valid schemas evaluated. */
export type Seen = Set<string | number>;

/** What is wrong, in words that never repeat the value: it may be secret. */
export interface Explained {
  readonly reason: string;
  /** A getter where it has to be looked for: only the issues that are listed need one. */
  readonly suggestion: string;
}

/** Something wrong, put into words only if it is reported: most errors of alternatives are not. */
interface Finding {
  /** Innermost first. */
  path: (string | number)[];
  isName: boolean;
  explain: () => Explained;
}

/** Ends a validation: the work budget is used up. Never leaves this module. */
export class OutOfWork extends Error {}

/** Ends a validation: more errors were found than anybody reads, and all of them are certain. */
export class EnoughErrors extends Error {}

const ENOUGH_ERRORS = 1000;
const MAX_ISSUES = 100;

/** One validation: what it found, and how much work it may still do. */
export class Run {
  /** Resources entered on the way, outermost first: `$dynamicRef` looks for its target there. */
  readonly scope: SchemaResource[] = [];
  /** Of the errors, as many as anybody reads: the first ones. */
  readonly #findings: Finding[] = [];
  #errors = 0;
  /** The property name that is itself the value, below `propertyNames`. */
  #name: string | undefined;
  /** How many keywords around the current schema let it fail: errors that may be dropped end nothing. */
  tentative = 0;
  #stepsLeft: number;

  constructor(budget: number) {
    this.#stepsLeft = budget;
  }

  /** Throws OutOfWork once the budget is used up. */
  spend(steps: number): void {
    this.#stepsLeft -= steps;
    if (this.#stepsLeft < 0) throw new OutOfWork("out of work");
  }

  /** Errors found so far. A value is valid for a schema that leaves this number as it was. */
  get errors(): number {
    return this.#errors;
  }

  /** Notes an error of the current value, or of its member `below`. */
  fail(explain: () => Explained, below?: string): void {
    this.spend(1);
    this.#errors += 1;
    if (this.#errors <= ENOUGH_ERRORS + 1) this.#findings.push(this.#finding(explain, below));
    if (this.tentative === 0 && this.#errors > ENOUGH_ERRORS) throw new EnoughErrors("enough errors");
  }

  #finding(explain: () => Explained, below: string | undefined): Finding {
    const path: Finding["path"] = below === undefined ? [] : [below];
    if (this.#name !== undefined) path.push(this.#name);
    return { path, isName: this.#name !== undefined, explain };
  }

  /** Forgets the errors since there were `count`. */
  dropErrors(count: number): void {
    this.#errors = count;
    this.#findings.length = Math.min(this.#findings.length, count);
  }

  /** The errors since there were `count` are about the member at `key`. */
  locate(count: number, key: string | number): void {
    for (let index = count; index < this.#findings.length; index += 1) this.#findings[index]?.path.push(key);
  }

  /** Errors from here on are about a property name; about the value again without one. */
  about(name: string | undefined): void {
    this.#name = name;
  }

  /** Issues a caller can act on; `more` counts those beyond the first hundred, as far as anybody reads. */
  issues(): { issues: Issue[]; more: number } {
    const issues = new Map<string, { path: string; reason: string; explained: Explained }>();
    for (const { path: steps, isName, explain } of this.#findings) {
      const explained = explain();
      const path = steps.reduceRight<string>(pointTo, "");
      const reason = isName ? `has a name that ${explained.reason}` : explained.reason;
      issues.set(`${path}\n${reason}`, { path, reason, explained });
    }
    const listed = [...issues.values()].slice(0, MAX_ISSUES);
    return {
      issues: listed.map(({ path, reason, explained: { suggestion } }) => ({ path, reason, suggestion })),
      more: issues.size - listed.length,
    };
  }
}

/** Reports to the run what is wrong with a value; notes in `seen`, where given, what it evaluated. */
export interface Check {
  /** The kinds of values it is about. */
  readonly kinds: number;
  test(data: JsonValue, run: Run, seen: Seen | undefined): void;
}
