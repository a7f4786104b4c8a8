import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { decode } from "./decode.ts";
import { CATALOGUE, failure } from "./errors/catalogue.ts";
import { failed, succeeded } from "./fixtures/answers.ts";
import {
  acceptedResponse,
  callFromInvoke,
  invokeResponse,
  type ToolInvokeRequest,
  toolInvokeRequestField,
  toolInvokeResponseField,
} from "./l3-invoke.ts";
import { CALL_STATUSES } from "./lifecycle.ts";

const ID = "0190a6d2-1111-7222-8333-0123456789ab";

const AGENT = { agent_did: "did:agent:7", tenant_id: "acme" };

const LEAST: ToolInvokeRequest = {
  tool_id: "analyze_code",
  tool_version: "^2.0.0",
  invocation_id: ID,
  agent_context: AGENT,
  parameters: { path: "src" },
};

const WHOLE: ToolInvokeRequest = {
  ...LEAST,
  operation: "run",
  agent_context: { ...AGENT, user_did: "did:web:ann", session_id: "s-1" },
  resource_limits: {
    cpu_millicore_limit: 250,
    memory_mb_limit: 64,
    timeout_seconds: 5,
    network_bandwidth_mbps: 10,
  },
  document_context: { document_refs: [], version_pinning: true, query: "" },
  checkpoint_config: {
    enable_checkpointing: true,
    checkpoint_interval_seconds: 60,
    resume_from_checkpoint_id: "",
  },
  execution_options: {
    async_mode: true,
    priority: "high",
    idempotency_key: "k-1",
    require_approval: true,
    callback_url: "https://caller.example/done",
  },
  capability_token: "header.payload.signature",
};

const decodeRequest = (value: unknown) => decode(value, toolInvokeRequestField);

function wrongPlaces(value: unknown): string[] {
  const decoded = decodeRequest(value);
  if (decoded.ok) return [];
  expect(decoded.failure.code).toBe("E3903");
  return (decoded.failure.issues ?? []).map(({ path }) => path);
}

describe("the fields of a request", () => {
  it("takes a whole request as it is, and the least there can be [L3-API-1]", () => {
    expect(decodeRequest(WHOLE)).toEqual({ ok: true, request: WHOLE });
    expect(decodeRequest(LEAST)).toEqual({ ok: true, request: LEAST });
  });

  it("asks only for a tool and its parameters: the door knows the rest [L3-API-1]", () => {
    expect(wrongPlaces({ tool_id: "t", parameters: {} })).toEqual([]);
    expect(wrongPlaces({})).toEqual(["/tool_id", "/parameters"]);
  });

  it("takes null for what is left out", () => {
    const nulls = { resource_limits: null, execution_options: { priority: null }, capability_token: null };
    expect(wrongPlaces({ ...LEAST, ...nulls })).toEqual([]);
  });

  it.each<[string, object]>([
    ["/tool_id", { tool_id: "" }],
    ["/tool_version", { tool_version: 2 }],
    ["/invocation_id", { invocation_id: "call-1" }],
    ["/agent_context", { agent_context: "did:agent:7" }],
    ["/agent_context/agent_did", { agent_context: { tenant_id: "acme" } }],
    ["/agent_context/tenant_id", { agent_context: { agent_did: "did:agent:7" } }],
    ["/parameters", { parameters: [] }],
    ["/resource_limits/timeout_seconds", { resource_limits: { timeout_seconds: 0 } }],
    ["/resource_limits/memory_mb_limit", { resource_limits: { memory_mb_limit: "64" } }],
    ["/resource_limits/cpu_millicore_limit", { resource_limits: { cpu_millicore_limit: 0.5 } }],
    ["/document_context/document_refs/1", { document_context: { document_refs: ["doc://a", 1] } }],
    ["/document_context/version_pinning", { document_context: { version_pinning: "yes" } }],
    [
      "/checkpoint_config/checkpoint_interval_seconds",
      { checkpoint_config: { checkpoint_interval_seconds: -1 } },
    ],
    ["/execution_options/priority", { execution_options: { priority: "urgent" } }],
    ["/execution_options/require_approval", { execution_options: { require_approval: 1 } }],
    ["/execution_options/callback_url", { execution_options: { callback_url: "ftp://caller.example" } }],
    ["/operation", { operation: "" }],
    ["/capability_token", { capability_token: 5 }],
  ])("names only %s when only that is wrong [L3-API-1]", (place, change) => {
    expect(wrongPlaces({ ...LEAST, ...change })).toEqual([place]);
  });

  it("names a misspelt field instead of dropping it", () => {
    const decoded = decodeRequest({ ...LEAST, execution_options: { require_aproval: true }, "a/b": 1 });
    const path = "/execution_options/require_aproval";
    const issues = [
      { path: "/a~1b", reason: "is not a known field" },
      { path, suggestion: expect.stringContaining("require_approval") },
    ];
    expect(decoded).toMatchObject({ ok: false, failure: { issues } });
  });

  it("names every wrong field at once, in the message too [L3-API-1]", () => {
    const decoded = decodeRequest({ tool_version: 2, operation: 3, agent_context: {} });
    expect(decoded).toMatchObject({
      ok: false,
      failure: {
        message:
          "Malformed request: /tool_id, /tool_version, /operation, /agent_context/agent_did, /agent_context/tenant_id and 1 more",
      },
    });
  });

  it("judges anything without throwing", () => {
    fc.assert(
      fc.property(fc.anything(), (value) => {
        expect(decodeRequest(value).ok).toBe(false);
      }),
    );
  });
});

describe("what is not offered", () => {
  it.each<[string, object]>([
    ["/document_context/document_refs", { document_context: { document_refs: ["doc://spec"] } }],
    ["/document_context/query", { document_context: { query: "limits" } }],
    [
      "/checkpoint_config/resume_from_checkpoint_id",
      { checkpoint_config: { resume_from_checkpoint_id: "c-1" } },
    ],
  ])("is refused at %s, never passed over [L3-API-1]", (path, asked) => {
    expect(decodeRequest({ ...LEAST, ...asked })).toMatchObject({
      ok: false,
      failure: { code: "E3903", issues: [{ path, reason: expect.stringContaining("does not offer") }] },
    });
  });

  it("is taken where nothing is asked of it [L3-API-1]", () => {
    const nothing = {
      document_context: { document_refs: null, version_pinning: false, query: null },
      checkpoint_config: { enable_checkpointing: null, resume_from_checkpoint_id: null },
    };
    expect(wrongPlaces({ ...LEAST, ...nothing })).toEqual([]);
    expect(wrongPlaces({ ...LEAST, document_context: {}, checkpoint_config: {} })).toEqual([]);
  });
});

describe("callFromInvoke", () => {
  it("orders everything the request asks for [L3-API-1]", () => {
    expect(callFromInvoke(WHOLE)).toEqual({
      tool: "analyze_code",
      version: "^2.0.0",
      operation: "run",
      input: { path: "src" },
      caller: { tenant: "acme", agent: "did:agent:7", user: "did:web:ann", session: "s-1" },
      callId: ID,
      token: "header.payload.signature",
      idempotencyKey: "k-1",
      priority: "high",
      requireApproval: true,
      asyncMode: true,
      callbackUrl: "https://caller.example/done",
      limits: { cpuMillicores: 250, memoryBytes: 67_108_864, timeoutMs: 5000, networkMbps: 10 },
    });
  });

  it("leaves out what the request does not say, and an empty token [L3-API-1]", () => {
    const empty = { agent_context: { ...AGENT, session_id: "" }, capability_token: "" };
    const order = callFromInvoke({ ...LEAST, ...empty });
    expect(Object.keys(order)).toEqual(["tool", "input", "caller", "version", "callId"]);
    expect(order.caller).toEqual({ tenant: "acme", agent: "did:agent:7" });
  });

  it("leaves who calls to the door when the request does not say [L3-API-1]", () => {
    const order = callFromInvoke({ tool_id: "t", parameters: {} });
    expect(order).toEqual({ tool: "t", input: {}, caller: {} });
  });
});

describe("invokeResponse", () => {
  it("answers a success with its result and execution metadata [L3-API-1]", () => {
    expect(invokeResponse(succeeded([1, 2]))).toEqual({
      invocation_id: ID,
      status: "success",
      result: [1, 2],
      execution_metadata: {
        duration_ms: 124,
        started_at: "2026-01-02T03:04:05.000Z",
        completed_at: "2026-01-02T03:04:05.124Z",
        cpu_used_millicore_seconds: 50,
        memory_peak_mb: 2,
        network_bytes_sent: 10,
        network_bytes_received: 20,
      },
    });
  });

  it("answers a failure in L3's word, with the code, advice and issues in the details [L3-API-1]", () => {
    const issues = [{ path: "/path", reason: "is missing" }];
    const answer = failed(failure("E3901", { issues, details: { tool: "t" } }), "error");
    expect(invokeResponse(answer).error).toEqual({
      code: "invalid_parameters",
      message: CATALOGUE.E3901.title,
      details: { tool: "t", code: "E3901", advice: CATALOGUE.E3901.advice, issues },
      retryable: false,
    });
    expect(invokeResponse(answer)).not.toHaveProperty("result");
  });

  it.each(CALL_STATUSES)(
    "keeps the status %s, and says where to ask only while the call is open [L3-API-1] [L3-EXE-5]",
    (status) => {
      const answer = status === "success" ? succeeded(1) : failed(failure("E3900"), status);
      const response = invokeResponse(answer, { statusUrl: "/v1/invocations/1" });
      const open = ["pending", "running", "pending_approval"].includes(status);
      expect(response.status).toBe(status);
      expect(Object.hasOwn(response.execution_metadata, "completed_at")).toBe(!open);
      expect(response.polling_info).toEqual(open ? { status_url: "/v1/invocations/1" } : undefined);
      expect(decode(response, toolInvokeResponseField).ok).toBe(true);
    },
  );

  it("answers an accepted call with where to ask, and no result yet [L3-EXE-5]", () => {
    const accepted = { callId: ID, tool: "t", version: "1.0.0", operation: "run", acceptedAt: 0 };
    const response = acceptedResponse({ ...accepted, status: "pending" }, { statusUrl: "/s" });
    expect(response).toEqual({
      invocation_id: ID,
      status: "pending",
      execution_metadata: {
        duration_ms: 0,
        started_at: "1970-01-01T00:00:00.000Z",
        cpu_used_millicore_seconds: 0,
        memory_peak_mb: 0,
        network_bytes_sent: 0,
        network_bytes_received: 0,
      },
      polling_info: { status_url: "/s" },
    });
    expect(decode(response, toolInvokeResponseField).ok).toBe(true);
  });

  it("keeps a null result", () => {
    expect(invokeResponse(succeeded(null))).toHaveProperty("result", null);
  });
});
