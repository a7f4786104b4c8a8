import { Range, valid } from "semver";
import { compilePatterns } from "../../match/patterns.ts";
import { NO, type Truth, UNSURE, YES } from "../../match/truth.ts";
import type { PolicyRequest } from "../../ports/policy.ts";
import { COST, type Condition, type ReadCondition, verdict } from "./condition.ts";

const MAX_RANGE = 256;
const MAX_REMEMBERED = 200;

/** Whose call it is, and of what: conditions by name, where `*` stands for any run of characters. */
export const IDENTITY_CONDITIONS = {
  tools: named(({ tool }) => tool),
  operations: named(({ operation }) => operation),
  agents: named(({ caller }) => caller.agent),
  users: named(({ caller }) => caller.user),
  sessions: named(({ caller }) => caller.session),
  tenants: named(({ caller }) => caller.tenant),
  versions: readVersions,
} satisfies Record<string, ReadCondition>;

/** A call without the name, as one without a user, is matched by no pattern, not even by `*`. */
function named(nameOf: (request: PolicyRequest) => string | undefined): ReadCondition {
  return (value, { path, within, reading }) => {
    const matches = compilePatterns(reading.patterns(value, path));
    const judge = (request: PolicyRequest) => {
      const name = nameOf(request);
      return verdict(name !== undefined && matches(name));
    };
    return [{ path: within, cost: COST.pattern, judge, look: nameOf }];
  };
}

function readVersions(...[value, { path, within, reading }]: Parameters<ReadCondition>): Condition[] {
  const ranges = reading.list(value, path, (item, at) => {
    const text = reading.text(item, at, MAX_RANGE);
    if (text === undefined) return undefined;
    return rangeOf(text) ?? reading.wrong(at, "is not a version range", "such as ^2 or >=1.4 <2");
  });
  const judgeVersion = remembering((version) => inRanges(version, ranges));
  const judge = ({ version }: PolicyRequest) => judgeVersion(version);
  return [{ path: within, cost: COST.version, judge, look: ({ version }) => version }];
}

interface ReadRange {
  strict: Range;
  /** The same with prereleases, which a range leaves out unless it names one. */
  wide: Range;
}

function rangeOf(text: string): ReadRange | undefined {
  try {
    return { strict: new Range(text), wide: new Range(text, { includePrerelease: true }) };
  } catch {
    return undefined;
  }
}

/** A prerelease inside the range is in doubt: a ban must not be passed by one, nor a permission stretch to it. */
function inRanges(version: string, ranges: readonly ReadRange[]): Truth {
  if (valid(version) === null) return UNSURE;
  if (ranges.some(({ strict }) => strict.test(version))) return YES;
  return ranges.some(({ wide }) => wide.test(version)) ? UNSURE : NO;
}

/** Reading a version costs more than the rest of a decision, and there are few different ones. */
function remembering(judge: (version: string) => Truth): (version: string) => Truth {
  const known = new Map<string, Truth>();
  return (version) => {
    const found = known.get(version);
    if (found !== undefined) return found;
    if (known.size >= MAX_REMEMBERED) known.clear();
    const truth = judge(version);
    known.set(version, truth);
    return truth;
  };
}
