import type { ToolRecord } from "@sallyport/engine/ports";
import {
  type Failure,
  failure,
  isFailure,
  nearestNames,
  SallyportError,
  type ToolManifest,
} from "@sallyport/protocol";
import type { Principal } from "../principal.ts";
import { mayKnowAll } from "./call-request.ts";
import type { RouteContext } from "./parts.ts";

/**
 * Why the asker may not know whether there is such a tool; undefined when it may. The registry is not looked at, so
 * that the refusal is the same for a tool that exists and for one that does not.
 */
export function hiddenToolError(
  tool: string,
  principal: Principal,
  parts: RouteContext,
): Failure | undefined {
  if (mayKnowAll(principal, parts)) return undefined;
  if (principal.kind !== "agent") return failure(principal.kind === "anyone" ? "E3938" : "E3940");
  const { claims, token } = principal;
  const caller = { tenant: claims.tenant, agent: claims.agent };
  try {
    return parts.authority.accessRefusal?.({ caller, token, tool, at: parts.clock.now() });
  } catch {
    return failure("E3206");
  }
}

/** Every version of one tool, lowest first. Throws the refusal of a hidden tool, or E3001. */
export function recordsOf(tool: string, principal: Principal, parts: RouteContext): ToolRecord[] {
  const hidden = hiddenToolError(tool, principal, parts);
  if (hidden) throw new SallyportError(hidden);
  const all = parts.engine.tools.list();
  const records = all.filter(({ manifest }) => manifest.id === tool);
  if (records.length > 0) return records;
  const known = [...new Set(all.map(({ manifest }) => manifest.id))].filter(
    (id) => hiddenToolError(id, principal, parts) === undefined,
  );
  throw new SallyportError(unknownTool(tool, known));
}

/** Whether calls reach a version's code: not while the operator has switched the tool off, nor before it is loaded. */
export function hasLoadedCode({ id, version, operations }: ToolManifest, parts: RouteContext): boolean {
  if (parts.isSwitchedOff?.(id)) return false;
  const operation = Object.keys(operations)[0] ?? "";
  const found = parts.engine.tools.resolve({ tool: id, version, operation });
  return isFailure(found) || found.implementation !== undefined;
}

/** E3001 with the names that are near. */
export function unknownTool(tool: string, known: readonly string[]): Failure {
  const nearest = nearestNames(tool, known);
  const hint = nearest.length === 0 ? "" : ` Did you mean ${nearest.map((id) => `"${id}"`).join(" or ")}?`;
  return failure("E3001", {
    message: `There is no tool "${tool.slice(0, 100)}".${hint}`,
    details: { nearest },
  });
}
