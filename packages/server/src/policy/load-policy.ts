import { readFileSync, statSync } from "node:fs";
import { basename } from "node:path";
import { type CompiledPolicy, compilePolicy } from "@sallyport/engine";
import { type Failure, failure, type Issue, isFailure } from "@sallyport/protocol";
import { readYaml, type YamlSource } from "../config/yaml-source.ts";

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
  const source = readYaml(text, path);
  if (Array.isArray(source)) return refused(path, source.map(byLine));
  const compiled = compilePolicy(source.value, { name: basename(path) });
  return isFailure(compiled) ? refused(path, placed(compiled.issues ?? [], path, source)) : compiled;
}

/** Without the column: rules are short. */
function byLine(issue: Issue): Issue {
  return { ...issue, path: issue.path.replace(/:\d+$/, "") };
}

/** In the order of the file, which is how a person goes through it. */
function placed(issues: readonly Issue[], path: string, source: YamlSource): Issue[] {
  return issues
    .map((issue) => ({ issue, line: source.find(stepsOf(issue.path)).line }))
    .sort((a, b) => a.line - b.line)
    .map(({ issue, line }) => ({
      ...issue,
      path: `${path}:${line}`,
      reason: issue.path === "" ? issue.reason : `${issue.path} ${issue.reason}`,
    }));
}

/** The steps of a JSON Pointer. */
function stepsOf(pointer: string): string[] {
  const steps = pointer.split("/").slice(1);
  return steps.map((step) => step.replaceAll("~1", "/").replaceAll("~0", "~"));
}

function refused(path: string, issues: Issue[]): Failure {
  const places = issues.length === 1 ? "one place" : `${issues.length} places`;
  return failure("E3223", { message: `The policy file ${path} is wrong in ${places}.`, issues });
}
