import { checkSteps } from "../../validate/result-steps.ts";
import { rollBack } from "../ending-steps.ts";
import type { House } from "../house.ts";
import { effectiveLimits } from "../job.ts";
import type { Ending, Ran, ResultAccepted } from "../steps.ts";

/** Lets a result through only as its schema promises; anything else rolls the call back (R1-6.2). */
export function checkResult(
  at: Ran,
  house: House,
): ResultAccepted | Ending | Promise<ResultAccepted | Ending> {
  const { attempt, tool } = at;
  const { outputSchema } = tool.operation;
  const checked = checkSteps(
    house.resultSteps,
    { value: at.output, text: JSON.stringify(at.output) },
    {
      maxOutputBytes: effectiveLimits(attempt, tool, house).maxOutputBytes,
      validate: outputSchema && ((value) => house.schemas.compile(outputSchema).validate(value)),
      warn: (warning) => attempt.warnings.push(warning),
    },
  );
  if ("refused" in checked) return rollBack(at, checked.refused);
  return { ...at, output: checked.value, outputText: checked.text };
}
