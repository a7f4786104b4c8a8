import type { Issue } from "@sallyport/protocol";
import {
  type Document,
  isAlias,
  isMap,
  isNode,
  isScalar,
  isSeq,
  LineCounter,
  type ParsedNode,
  parseDocument,
  visit,
  type YAMLMap,
} from "yaml";

const MAX_ISSUES = 20;
const MAX_DEPTH = 50;

/** What a YAML text means, and where everything in it stands. */
export interface YamlSource {
  value: unknown;
  /** Line and column of a place, or of the nearest thing around it. */
  find(path: readonly PropertyKey[]): { line: number; column: number };
  /** Whether the text itself says something there. */
  has(path: readonly PropertyKey[]): boolean;
}

/** Reads YAML without trusting it: loops, bombs and repeated keys are issues, each with `name:line:column`. */
export function readYaml(text: string, name: string): YamlSource | Issue[] {
  const lines = new LineCounter();
  const at = (offset: number) => {
    const { line, col } = lines.linePos(offset);
    return `${name}:${line}:${col}`;
  };
  // The library's own search for repeated keys takes minutes on a large map.
  const options = { lineCounter: lines, prettyErrors: false, uniqueKeys: false };
  const document = parseDocument(text, options);
  const wrong = [...document.errors, ...document.warnings].map(({ pos, message, code }) => ({
    path: at(pos[0]),
    reason: SAID_BETTER[code] ?? message,
  }));
  if (wrong.length > 0) return firstAtEach(wrong);
  const strange = strangeKeys(document).map(({ offset, reason }) => ({ path: at(offset), reason }));
  if (strange.length > 0) return strange.slice(0, MAX_ISSUES);
  const plain = plainValue(document);
  if (!plain.ok) return [{ path: `${name}:1:1`, reason: plain.reason }];
  return sourceOf(document, plain.value, lines);
}

/** What follows from a mistake is said at the same place again and again. */
function firstAtEach(issues: readonly Issue[]): Issue[] {
  const seen = new Map<string, Issue>();
  for (const issue of issues) if (!seen.has(issue.path)) seen.set(issue.path, issue);
  return [...seen.values()].slice(0, MAX_ISSUES);
}

const SAID_BETTER: Partial<Record<string, string>> = {
  TAB_AS_INDENT: "tabs are not allowed as indentation; use spaces",
  MULTIPLE_DOCS: "a second document begins here; there may be only one",
  RESOURCE_EXHAUSTION: "this is nested too deep",
};

/** Keys that come twice, and those that are no plain text. */
function strangeKeys(document: Document<ParsedNode>): { offset: number; reason: string }[] {
  const found: { offset: number; reason: string }[] = [];
  visit(document, {
    Map(_, map) {
      const seen = new Set<string>();
      for (const { key } of map.items) {
        const offset = (isNode(key) ? key.range?.[0] : undefined) ?? map.range?.[0] ?? 0;
        const name = isScalar(key) ? String(key.value) : undefined;
        if (name === undefined) found.push({ offset, reason: "a key has to be plain text" });
        else if (seen.has(name))
          found.push({ offset, reason: `the key "${name}" stands here a second time` });
        else seen.add(name);
      }
    },
  });
  return found;
}

/** Aliases are resolved here: unknown ones, loops and bombs are wrong. */
function plainValue(document: Document): { ok: true; value: unknown } | { ok: false; reason: string } {
  try {
    const value: unknown = document.toJS();
    if (isTooDeep(value, MAX_DEPTH))
      return { ok: false, reason: "this is nested too deep, or within itself" };
    return { ok: true, value };
  } catch (error) {
    return { ok: false, reason: error instanceof Error ? error.message : String(error) };
  }
}

function isTooDeep(value: unknown, left: number): boolean {
  if (typeof value !== "object" || value === null) return false;
  return left === 0 || Object.values(value).some((inside) => isTooDeep(inside, left - 1));
}

function sourceOf(document: Document<ParsedNode>, value: unknown, lines: LineCounter): YamlSource {
  const walk = (path: readonly PropertyKey[]) => {
    let node: unknown = document.contents;
    let offset = 0;
    for (const [index, step] of path.entries()) {
      const next = stepInto(node, step, document);
      if (!next) return { offset, steps: index };
      node = next.node;
      offset = next.offset ?? offset;
    }
    return { offset, steps: path.length };
  };
  return {
    value,
    find: (path) => {
      const { line, col: column } = lines.linePos(walk(path).offset);
      return { line, column };
    },
    has: (path) => walk(path).steps === path.length,
  };
}

function stepInto(from: unknown, step: PropertyKey, document: Document) {
  const node = isAlias(from) ? from.resolve(document) : from;
  if (isMap(node)) return memberOf(node, String(step));
  const item = isSeq(node) ? node.items[Number(step)] : undefined;
  return isNode(item) ? { node: item, offset: item.range?.[0] } : undefined;
}

function memberOf(map: YAMLMap, name: string) {
  const pair = map.items.find(({ key }) => isScalar(key) && String(key.value) === name);
  return pair && { node: pair.value, offset: isNode(pair.key) ? pair.key.range?.[0] : undefined };
}
