import { type Failure, failure, nearestNames, type Warning } from "@sallyport/protocol";
import type { ToolRecord } from "../ports/tool-records.ts";
import { daysLeft, lifecycleAt } from "./retirement.ts";

const SHOWN = 20;

export function unknownTool(tool: string, known: Iterable<string>): Failure {
  const near = nearestNames(tool, known);
  const hint = near.length === 0 ? "" : ` Did you mean ${near.map((name) => `"${name}"`).join(" or ")}?`;
  return failure("E3001", {
    message: `There is no tool "${shortened(tool)}".${hint}`,
    details: { nearest: near },
  });
}

export function unknownVersion(tool: string, version: string, versions: string[]): Failure {
  return failure("E3002", {
    message: `${tool} has no version ${shortened(version)}; it has ${listed(versions)}`,
    details: { versions },
  });
}

export function noVersionInRange(tool: string, range: string, versions: string[]): Failure {
  return failure("E3006", {
    message: `No version of ${tool} fits "${shortened(range)}"; it has ${listed(versions)}`,
    details: { versions },
  });
}

export function badRange(tool: string, range: string, versions: string[]): Failure {
  return failure("E3006", {
    message: `"${shortened(range)}" is neither a version nor a SemVer range; ${tool} has ${listed(versions)}`,
    details: { versions },
  });
}

export function removedVersion({ manifest, retirement }: ToolRecord): Failure {
  const instead = retirement.replacement === undefined ? "" : `; use ${retirement.replacement}`;
  const guidance = retirement.guidance === undefined ? "" : ` ${retirement.guidance}`;
  return failure("E3004", {
    message: `${manifest.id} ${manifest.version} was removed${instead}.${guidance}`,
    ...(retirement.replacement !== undefined && { details: { replacement: retirement.replacement } }),
  });
}

export function notActive({ manifest }: ToolRecord): Failure {
  return failure("E3014", {
    message: `${manifest.id} ${manifest.version} is ${manifest.status}, not active`,
    details: { status: manifest.status },
  });
}

export function unknownOperation({ manifest }: ToolRecord, operation: string | undefined): Failure {
  const operations = Object.keys(manifest.operations);
  const asked = operation === undefined ? "needs an operation" : `has no operation "${shortened(operation)}"`;
  return failure("E3010", {
    message: `${manifest.id} ${asked}; it has ${listed(operations)}`,
    details: { operations },
  });
}

/** What a caller of a version that is on its way out should know (L3-REG-2); undefined for an active one. */
export function retirementWarning({ manifest, retirement }: ToolRecord, now: number): Warning | undefined {
  const phase = lifecycleAt(retirement, now);
  if (phase !== "deprecated" && phase !== "sunset") return undefined;
  const sunset =
    retirement.sunsetAt === undefined ? "" : new Date(retirement.sunsetAt).toISOString().slice(0, 10);
  const when =
    phase === "sunset"
      ? `passed its sunset date ${sunset} and may be removed at any time`
      : `is deprecated; its sunset date is ${sunset}, ${daysLeft(retirement, now)} days from now`;
  const instead = retirement.replacement === undefined ? "" : ` Move to ${retirement.replacement}.`;
  const guidance = retirement.guidance === undefined ? "" : ` ${retirement.guidance}`;
  return { code: "E3003", message: `${manifest.id} ${manifest.version} ${when}.${instead}${guidance}` };
}

function listed(names: string[]): string {
  if (names.length === 0) return "none";
  const shown = names.slice(-SHOWN).join(", ");
  return names.length > SHOWN ? `${names.length}, among them ${shown}` : shown;
}

function shortened(text: string): string {
  return text.length > 100 ? `${text.slice(0, 100).toWellFormed()}…` : text;
}
