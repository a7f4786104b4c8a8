import { type Failure, failure, isFailure } from "@sallyport/protocol";
import type { Attempt } from "../attempt.ts";
import type { House } from "../house.ts";
import { declare, type Visit } from "../lifecycle.ts";
import { type Arrived, type Known, Refused } from "../steps.ts";

/**
 * Why the caller may not know of a tool. Asked before the registry is, and the same whether or not there is such a
 * tool, so that a refusal tells nothing about it.
 */
function strangerTo(
  { request, waits }: Attempt,
  house: House,
  tool: string = request.tool,
): Failure | undefined {
  return request.disclosure === "full" ? undefined : unidentified({ request, waits }, house, tool);
}

/** Why the caller is not taken for the one it says it is, or may not use the tool at all. */
export function unidentified(
  { request, waits }: Pick<Attempt, "request" | "waits">,
  house: House,
  tool: string = request.tool,
): Failure | undefined {
  if (!house.authority.stranger) return undefined;
  const { caller, token } = request;
  const verified = waits?.verified;
  try {
    return house.authority.stranger({
      caller,
      ...(verified ? { verified } : token !== undefined && { token }),
      tool,
      at: house.clock.now(),
    });
  } catch (error) {
    house.errors.report({ error, code: "E3206", tool, stage: "resolve" });
    return failure("E3206");
  }
}

/** Finds the one manifest the call means. From here on the call has a lifecycle. */
export function resolve({ attempt }: Arrived, house: House): Known | Refused {
  const { tool: id, version, operation } = attempt.request;
  const stranger = strangerTo(attempt, house);
  if (stranger) return new Refused(stranger);
  const tool = house.registry.resolve({
    tool: id,
    version,
    operation,
    now: house.clock.now(),
    mayKnow: (other) => strangerTo(attempt, house, other) === undefined,
  });
  if (isFailure(tool)) return new Refused(tool);
  if (!tool.implementation) {
    const message = `${id} ${tool.manifest.version} is registered but its code is not loaded.`;
    return new Refused(failure("E3920", { message }));
  }
  if (house.toolRules.of(id)?.enabled === false) {
    return new Refused(failure("E3014", { message: `${id} is switched off by the operator.` }));
  }
  attempt.tool = tool;
  attempt.facts.toolVersion = tool.manifest.version;
  attempt.facts.operation = tool.operationName;
  attempt.warnings.push(...tool.warnings);
  const watch = (visit: Visit) => {
    attempt.recordVisit(visit);
    house.telemetry.transition(visit.state, id);
    house.feeds.tell(attempt.callId, { kind: "state", state: visit.state, at: visit.at });
  };
  return { attempt, tool, life: declare({ now: () => house.clock.now(), watch }) };
}
