import { type Failure, failure, type Issue } from "@sallyport/protocol";
import { HOUSE_TENANT } from "../audit/tool-event.ts";
import type { CallRequest } from "./house.ts";

const MAX_NAME_CHARS = 255;
const CALL_ID = /^[A-Za-z0-9][A-Za-z0-9_.:-]{0,127}$/;

/** Checks the parts of a request that say what is asked for and by whom; every wrong one is named (E3903). */
export function requestProblem(request: CallRequest): Failure | undefined {
  const issues: Issue[] = [];
  const name = (path: string, value: unknown, required: boolean) => {
    if (value === undefined && !required) return;
    if (
      typeof value === "string" &&
      value.length > 0 &&
      value.length <= MAX_NAME_CHARS &&
      value.isWellFormed()
    )
      return;
    issues.push({ path, reason: `must be a string of 1 to ${MAX_NAME_CHARS} characters` });
  };
  name("/tool", request.tool, true);
  name("/version", request.version, false);
  name("/operation", request.operation, false);
  name("/idempotencyKey", request.idempotencyKey, false);
  name("/caller/tenant", request.caller?.tenant, true);
  name("/caller/agent", request.caller?.agent, true);
  name("/caller/user", request.caller?.user, false);
  name("/caller/session", request.caller?.session, false);
  if (request.callId !== undefined && !(typeof request.callId === "string" && CALL_ID.test(request.callId))) {
    issues.push({
      path: "/callId",
      reason: "must be 1 to 128 letters, digits, dots, colons, dashes or underscores",
    });
  }
  if (request.caller?.tenant === HOUSE_TENANT) {
    issues.push({ path: "/caller/tenant", reason: `"${HOUSE_TENANT}" is the house's own name` });
  }
  if (request.signal !== undefined && !(request.signal instanceof AbortSignal)) {
    issues.push({ path: "/signal", reason: "must be an AbortSignal" });
  }
  for (const [limit, value] of Object.entries(request.limits ?? {})) {
    if (value === undefined || (Number.isFinite(value) && value > 0)) continue;
    issues.push({ path: `/limits/${limit}`, reason: "must be a number above 0" });
  }
  return issues.length > 0 ? failure("E3903", { issues, message: describe(issues) }) : undefined;
}

function describe(issues: Issue[]): string {
  return `The request is malformed: ${issues.map(({ path, reason }) => `${path} ${reason}`).join("; ")}.`;
}
