import { failure, isFailure } from "@sallyport/protocol";
import type { House } from "../house.ts";
import { declare, type Visit } from "../lifecycle.ts";
import { type Arrived, type Known, Refused } from "../steps.ts";

/** Finds the one manifest the call means. From here on the call has a lifecycle. */
export function resolve({ attempt }: Arrived, house: House): Known | Refused {
  const { tool: id, version, operation } = attempt.request;
  const tool = house.registry.resolve({ tool: id, version, operation, now: house.clock.now() });
  if (isFailure(tool)) return new Refused(tool);
  if (!tool.implementation) {
    const message = `${id} ${tool.manifest.version} is registered but its code is not loaded.`;
    return new Refused(failure("E3920", { message }));
  }
  attempt.tool = tool;
  attempt.facts.toolVersion = tool.manifest.version;
  attempt.facts.operation = tool.operationName;
  attempt.warnings.push(...tool.warnings);
  const watch = (visit: Visit) => {
    attempt.recordVisit(visit);
    house.telemetry.transition(visit.state, id);
  };
  return { attempt, tool, life: declare({ now: () => house.clock.now(), watch }) };
}
