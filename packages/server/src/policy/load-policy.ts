import { readFileSync, statSync } from "node:fs";
import { basename } from "node:path";
import { type CompiledPolicy, compilePolicy } from "@sallyport/engine";
import { type Failure, failure, type Issue, isFailure } from "@sallyport/protocol";
import { type Document, LineCounter, parseDocument } from "yaml";
import { YamlPlaces } from "./yaml-places.ts";

const MAX_BYTES = 8 * 1024 * 1024;

/**
 * Reads a rules file, in YAML or JSON, and tries its examples. Refused (E3223) when it cannot be read or is wrong:
 * each issue carries the file and the line.
 */
export function loadPolicyFile(path: string): CompiledPolicy | Failure {
  const text = readText(path);
  return typeof text === "string" ? compileText(text, path) : text;
}

function readText(path: string): string | Failure {
  try {
    const { size } = statSync(path);
    if (size > MAX_BYTES) return unreadable(path, `it has more than ${MAX_BYTES} bytes`);
    return readFileSync(path, "utf8");
  } catch (error) {
    return unreadable(path, error instanceof Error ? error.message : String(error));
  }
}

function unreadable(path: string, why: string): Failure {
  const issues = [{ path, reason: `cannot be read: ${why}` }];
  return failure("E3223", { message: `The policy file ${path} cannot be read.`, issues });
}

function compileText(text: string, path: string): CompiledPolicy | Failure {
  const lines = new LineCounter();
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: false });
  const places = new YamlPlaces(document, lines);
  const wrong = [...document.errors, ...document.warnings].map(({ pos, message }) => ({
    path: `${path}:${places.lineAt(pos[0])}`,
    reason: message,
  }));
  if (wrong.length > 0) return refused(path, wrong);
  const plain = plainValue(document);
  if (!plain.ok) return refused(path, [{ path: `${path}:1`, reason: plain.reason }]);
  const compiled = compilePolicy(plain.value, { name: basename(path) });
  return isFailure(compiled) ? refused(path, placed(compiled.issues ?? [], path, places)) : compiled;
}

/** Aliases are resolved here: unknown ones, and bombs, are wrong files. */
function plainValue(document: Document): { ok: true; value: unknown } | { ok: false; reason: string } {
  try {
    return { ok: true, value: document.toJS() };
  } catch (error) {
    return { ok: false, reason: error instanceof Error ? error.message : String(error) };
  }
}

/** In the order of the file, which is how a person goes through it. */
function placed(issues: readonly Issue[], path: string, places: YamlPlaces): Issue[] {
  return issues
    .map((issue) => ({ issue, line: places.lineOf(issue.path) }))
    .sort((a, b) => a.line - b.line)
    .map(({ issue, line }) => ({
      ...issue,
      path: `${path}:${line}`,
      reason: issue.path === "" ? issue.reason : `${issue.path} ${issue.reason}`,
    }));
}

function refused(path: string, issues: Issue[]): Failure {
  const places = issues.length === 1 ? "one place" : `${issues.length} places`;
  return failure("E3223", { message: `The policy file ${path} is wrong in ${places}.`, issues });
}
