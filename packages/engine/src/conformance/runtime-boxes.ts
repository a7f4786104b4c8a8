import { createEngine } from "../call/engine.ts";
import { type Box, fillBox, type Seen } from "./box.ts";
import type { EngineFactory } from "./probe-house.ts";
import { auditsEverything } from "./runtime/audit.ts";
import { neverCorrupts } from "./runtime/conflict.ts";
import { validatesInputs } from "./runtime/inputs.ts";
import { enforcesLimits } from "./runtime/limits.ts";
import { validatesOutputs } from "./runtime/outputs.ts";
import { authorisesFirst } from "./runtime/permissions.ts";
import { rollsBack } from "./runtime/rollback.ts";
import { emitsTelemetry } from "./runtime/telemetry.ts";

type Check = (make: EngineFactory) => Promise<Seen>;

const CHECKS: readonly (readonly [id: string, title: string, check: Check])[] = [
  ["9.2.1", "checks an input before the tool runs", validatesInputs],
  ["9.2.2", "asks for permission before the tool runs", authorisesFirst],
  ["9.2.3", "holds a running tool to its limits", enforcesLimits],
  ["9.2.4", "checks a result before anybody gets it", validatesOutputs],
  ["9.2.5", "leaves an audit event for every transition", auditsEverything],
  ["9.2.6", "measures everything that must be measured", emitsTelemetry],
  ["9.2.7", "undoes what a failed call did", rollsBack],
  ["9.2.8", "never lets calls corrupt state", neverCorrupts],
];

/** The eight boxes of the runtime, from real calls on private engines. Never rejects. */
export async function runtimeBoxes(make: EngineFactory = createEngine): Promise<Box[]> {
  const boxes: Box[] = [];
  for (const [id, title, check] of CHECKS) {
    boxes.push(await fillBox({ id, section: "runtime", title }, () => check(make)));
  }
  return boxes;
}
