import { get, type HostileCase, head, hostile, invoke, post } from "./hostile-case.ts";

type Wrong = readonly [place: string, ...values: unknown[]];

const LONG = "x".repeat(256);
const CONTEXT = { agent_did: "a", tenant_id: "t" };

/** Every field of tool.invoke, with what it may not be. */
const INVOKE: Wrong[] = [
  ["tool_id", undefined, null, 7, true, [], {}, "", LONG],
  ["tool_version", 1, false, [], {}, "", LONG],
  ["operation", 0, true, ["run"], {}, "", LONG],
  ["invocation_id", 1, "", "not-a-uuid", "00000000-0000-0000-0000-00000000000g", ["x"], {}],
  ["parameters", undefined, null, "a=1", 3, true, [], [{}]],
  ["agent_context", "me", 1, [], true],
  ["agent_context/agent_did", undefined, null, 1, "", LONG, []],
  ["agent_context/tenant_id", undefined, null, {}, "", LONG],
  ["agent_context/user_did", 5, "", []],
  ["agent_context/session_id", 5, {}, [1]],
  ["agent_context/role", "admin"],
  ["resource_limits", [], "none", 1],
  ["resource_limits/timeout_seconds", 0, -1, 1.5, "5", true, 2 ** 53, {}],
  ["resource_limits/memory_mb_limit", 0, "1", -5, []],
  ["resource_limits/cpu_millicore_limit", 0.1, "all"],
  ["resource_limits/network_bandwidth_mbps", -1, "1"],
  ["resource_limits/timeout_second", 5],
  ["document_context", 1, []],
  ["document_context/document_refs", "a", [1], [""], {}, ["doc://spec"]],
  ["document_context/version_pinning", "yes", 1],
  ["document_context/query", 1, [], "limits"],
  ["checkpoint_config", "on", []],
  ["checkpoint_config/enable_checkpointing", "true", 0],
  ["checkpoint_config/checkpoint_interval_seconds", 0, "30", -1],
  ["checkpoint_config/resume_from_checkpoint_id", 1, "c-1"],
  ["execution_options", "async", [], 1],
  ["execution_options/async_mode", "true", 1, []],
  ["execution_options/priority", "urgent", 1, "", "HIGH"],
  ["execution_options/idempotency_key", 1, "", LONG, {}],
  ["execution_options/require_approval", "no", 0],
  [
    "execution_options/callback_url",
    1,
    "",
    "ftp://a.example",
    "javascript:alert(1)",
    "http://",
    "http://a b",
  ],
  ["capability_token", 1, {}, []],
  ["dry_run", true],
];

const APPROVAL = "/v1/approvals/none";

/** The other bodies: with whatever is wrong they are refused before anything is looked up. */
const OTHERS: [path: string, good: object, ...wrong: Wrong[]][] = [
  [
    "/v1/invocations/none:cancel",
    { reason: "r" },
    ["reason", 1, "", "x".repeat(513), []],
    ["invocation_id", "other", 1],
    ["agent_context", "me", { agent_did: "a" }],
    ["force", true],
  ],
  [
    `${APPROVAL}:approve`,
    {},
    ["comment", 1, "", "x".repeat(2_001)],
    ["digest", 1, ""],
    [
      "always",
      true,
      "yes",
      {},
      { arguments: "some" },
      { arguments: [{}] },
      { arguments: "any", for: "ever" },
    ],
  ],
  [`${APPROVAL}:deny`, { reason: "r" }, ["reason", undefined, null, "", 1], ["because", "x"]],
  [`${APPROVAL}:edit`, { input: {} }, ["input", undefined], ["inputs", {}]],
  [
    `${APPROVAL}/tokens`,
    { approver: "ann" },
    ["approver", undefined, "", 1, LONG],
    ["level", 0, 101, "1", 1.5],
    ["expires_in_seconds", 0, -1, "1"],
  ],
  [
    "/v1/tokens:revoke",
    { jti: "j", reason: "r" },
    ["jti", "", "a b", 1],
    ["reason", undefined, "", 1],
    ["token", "x.y.z"],
  ],
  ["/v1/sessions", {}, ["as", "header", 1], ["name", "", "a\nb", "<b>", 1]],
];

/** The key is put in when the request is sent: a table cannot know it. */
export const OPERATOR = "Authorization: Bearer {operator key}";

/** Bodies whose parts are not what they have to be. */
export const SHAPES: HostileCase[] = [
  ...INVOKE.flatMap((wrong) =>
    bodiesOf({ tool_id: "echo", parameters: {} }, wrong).map(([name, body]) =>
      hostile(`shape: invoke ${name}`, invoke(body), 400, "E3903"),
    ),
  ),
  ...OTHERS.flatMap(([path, good, ...wrongs]) =>
    wrongs.flatMap((wrong) =>
      bodiesOf(good, wrong).map(([name, body]) =>
        hostile(`shape: ${path} ${name}`, post(path, body, OPERATOR), 400, "E3903"),
      ),
    ),
  ),
  ...["null", "[]", '"echo"', "7", "true", "{}"].map((body) =>
    hostile(`shape: invoke ${body}`, invoke(body), 400, "E3903"),
  ),
  ...["null", "[]", "7", "{}", '{"header":{}}', '{"header":[],"payload":{}}'].map((body) =>
    hostile(`shape: message ${body}`, post("/v1/messages", body), 400, "E3903"),
  ),
  hostile(
    "shape: a body for a reload",
    post("/v1/config:reload", '{"file":"/etc/passwd"}', OPERATOR),
    400,
    "E3903",
  ),
  hostile(
    "shape: a body where none is read",
    post("/v1/invocations/none:resume", "[[1]]", OPERATOR),
    400,
    "E3903",
  ),
  hostile("shape: a body with GET", head("GET /v1/tools", ["Content-Length: 2"]).concat("{}"), 400, "E3903"),
  hostile("shape: another call's id as this call's", get("/v1/invocations/none"), 404, "E3917"),
];

/** The good body with each of the wrong values in its place; undefined leaves the place out. */
function bodiesOf(good: object, [place, ...values]: Wrong): [name: string, body: string][] {
  return values.map((value) => {
    const shown = JSON.stringify(value) ?? "left out";
    const name = `${place} ${shown.length > 40 ? `${shown.slice(0, 12)}… (${shown.length})` : shown}`;
    return [name, JSON.stringify(withValue(good, place.split("/"), value))];
  });
}

function withValue(good: object, [first = "", ...rest]: string[], value: unknown): object {
  if (rest.length === 0) return { ...good, [first]: value };
  const inner = first === "agent_context" ? CONTEXT : {};
  return { ...good, [first]: withValue(inner, rest, value) };
}
