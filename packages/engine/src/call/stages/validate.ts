import { failure, type Issue } from "@sallyport/protocol";
import { fail } from "../ending-steps.ts";
import type { House } from "../house.ts";
import type { Checked, Ending, Known } from "../steps.ts";

/** Checks the input before anybody is asked for permission (R1-6.1). The checked copy is the only one used from here. */
export function validate(at: Known, house: House): Checked | Ending {
  const { attempt, tool, life } = at;
  const { read } = attempt.received;
  if (!read.ok) return fail(at, read.failure);
  const { value } = read;
  const checked = house.schemas.compile(tool.operation.inputSchema).validate(value);
  if (!checked.ok) return fail(at, checked.kind === "unusable" ? checked.failure : invalid(checked, at));
  return { attempt, tool, life: life.validated(value) };
}

function invalid({ issues, more }: { issues: Issue[]; more: number }, { tool }: Known) {
  const [first] = issues;
  const others = issues.length - 1 + more;
  const where = first
    ? `: ${first.path || "/"} ${first.reason}${others > 0 ? ` (and ${others} more)` : ""}`
    : "";
  const message = `The input of ${tool.manifest.id} ${tool.operationName} is not valid${where}`;
  return failure("E3901", { message, issues });
}
