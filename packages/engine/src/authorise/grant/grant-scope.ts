import type { Issue } from "@sallyport/protocol";
import { type PlainPath, pathInside, readHost, readPath } from "../../match/locations.ts";
import { compileResources, hasDotSegments } from "../../match/patterns.ts";
import { YES } from "../../match/truth.ts";
import type { GrantScope } from "../../ports/grants.ts";
import { readCondition } from "./condition.ts";

const MAX_TEXT_CHARS = 512;
const MAX_ITEMS = 100;

/** Percent signs may be decoded later, and `..` may follow a link: nobody can tell where such a path leads. */
const UNCERTAIN = /%(?:2e|2f|5c|25)|(?:^|\/)\.\.(?:\/|$)/i;
/** Credentials before the host: easily taken for the host itself. */
const WITH_CREDENTIALS = /^(?:[^/?#]*\/\/)?[^/?#]*@/;

/**
 * Whether a resource lies within globs, where `*` stands for any run of characters. No globs mean everything. A URL is
 * compared as a client would request it. A resource that readers may take for another one lies within nothing that is
 * named: with `.` or `..` between its slashes, a control character, or a host that programs read differently.
 */
export function compileScope(globs: readonly string[]): (resource: string | undefined) => boolean {
  if (globs.length === 0) return () => true;
  const judge = compileResources(globs);
  return (resource) => resource !== undefined && judge(resource) === YES;
}

/** The same for globs that are asked about once. */
export function coversResource(globs: readonly string[], resource: string | undefined): boolean {
  return compileScope(globs)(resource);
}

/** Whether a path is one of the folders or lies below one, by its text alone. Links are the sandbox's business. */
export function isInside(folders: readonly string[], path: string): boolean {
  const inner = certainPath(path);
  return folders.some((folder) => {
    const outer = certainPath(folder);
    return inner !== undefined && outer !== undefined && pathInside(inner, outer) === YES;
  });
}

function certainPath(path: string): PlainPath | undefined {
  return UNCERTAIN.test(path) ? undefined : readPath(path);
}

/** The host a network resource is about, in lower case: of a URL, `host:port` or a bare host. */
export function hostOf(resource: string): string | undefined {
  return WITH_CREDENTIALS.test(resource) ? undefined : readHost(resource)?.name;
}

/** A copy with every part of a scope; a part left out is unrestricted. */
export function completeScope(scope: Partial<GrantScope> = {}): GrantScope {
  const { resources = [], actions = [], conditions = [] } = scope;
  return {
    resources: [...resources],
    actions: [...actions],
    conditions: conditions.map(({ type, expression }) => ({ type, expression })),
  };
}

/** What cannot be understood in a scope, each place by its pointer into the draft. */
export function scopeIssues({ resources, actions, conditions }: GrantScope, now: number): Issue[] {
  return [
    ...listIssues(
      "/scope/resources",
      resources,
      (glob) => textProblem(glob) ?? (hasDotSegments(glob) ? "has . or .. between its slashes" : undefined),
    ),
    ...listIssues("/scope/actions", actions, textProblem),
    ...listIssues("/scope/conditions", conditions, (given) => {
      const { problem, type, evaluate } = readCondition(given);
      if (problem !== undefined || type !== "TIME") return problem;
      const holds = evaluate({ at: now, context: {}, location: {} });
      return typeof holds === "string" ? holds : undefined;
    }),
  ];
}

/** Where a child's scope is not certainly within its parent's. */
export function widerIssues(child: GrantScope, parent: GrantScope): Issue[] {
  const lacking = parent.conditions.filter(
    ({ type, expression }) =>
      !child.conditions.some((own) => own.type === type && own.expression === expression),
  );
  return [
    ...widerList("/scope/resources", [child.resources, parent.resources], includesGlob),
    ...widerList("/scope/actions", [child.actions, parent.actions], (outer, inner) => outer.includes(inner)),
    ...lacking.map(({ type, expression }) => ({
      path: "/scope/conditions",
      reason: `lacks the parent's ${type}: ${expression}`,
    })),
  ];
}

/**
 * Whether every resource of one glob lies within the others. The inner glob is matched as if it were a text: its own
 * `*` can then only be covered by a `*` of the outer one, so a yes is certain; a no may be too careful.
 */
export function includesGlob(outer: readonly string[], inner: string): boolean {
  return outer.includes(inner) || coversResource(outer, inner);
}

/** An empty list means everything, so it is wider than any list with something in it. */
function widerList(
  path: string,
  [inner, outer]: [string[], string[]],
  includes: (outer: string[], inner: string) => boolean,
): Issue[] {
  if (outer.length === 0) return [];
  if (inner.length === 0) return [{ path, reason: "is unrestricted and the parent is not" }];
  return inner.flatMap((item, index) =>
    issuesOf([`${path}/${index}`, !includes(outer, item) && `${item} is not surely within the parent's`]),
  );
}

/** An issue for each path that has a problem. */
export function issuesOf(...problems: [path: string, problem: string | undefined | false][]): Issue[] {
  return problems.flatMap(([path, reason]) =>
    reason === undefined || reason === false ? [] : { path, reason },
  );
}

export function textProblem(text: unknown): string | undefined {
  if (typeof text !== "string" || text.trim() === "") return "is empty";
  if (text.length > MAX_TEXT_CHARS) return `is longer than ${MAX_TEXT_CHARS} characters`;
  return text.isWellFormed() ? undefined : "is not well-formed Unicode";
}

export function listIssues<Item>(
  path: string,
  items: readonly Item[],
  problemOf: (item: Item) => string | undefined,
): Issue[] {
  if (items.length > MAX_ITEMS) return [{ path, reason: `has more than ${MAX_ITEMS} entries` }];
  return items.flatMap((item, index) => issuesOf([`${path}/${index}`, problemOf(item)]));
}
