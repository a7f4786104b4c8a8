import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { CATALOGUE, type ErrorCode, failure } from "./errors/catalogue.ts";
import { failed, succeeded } from "./fixtures/answers.ts";
import type { CallStatus } from "./lifecycle.ts";
import { callFromMcx, decodeMcxRequest, type McxRequest, mcxError, mcxResponse } from "./mcx.ts";

const REQUEST: McxRequest = {
  header: {
    version: "1.0",
    messageId: "m-1",
    timestamp: "2026-01-02T03:04:05Z",
    messageType: "request",
    source: "client-7",
    destination: "sallyport",
  },
  payload: {
    tool: { id: "calculator", capability: "add", parameters: { a: 1, b: 2 } },
    context: { session_id: "s-1", request_id: "r-1", user_id: "u-1" },
    security: { token: "t-1", permissions: ["math.use"] },
  },
};

const STAMP = { messageId: "m-2", timestamp: "2026-01-02T03:04:06Z", source: "sallyport" };

function wrongPlaces(value: unknown): string[] {
  const decoded = decodeMcxRequest(value);
  if (decoded.ok) return [];
  expect(decoded.failure.code).toBe("E3903");
  return (decoded.failure.issues ?? []).map(({ path }) => path);
}

const header = (change: object) => ({ ...REQUEST, header: { ...REQUEST.header, ...change } });
const payload = (change: object) => ({ ...REQUEST, payload: { ...REQUEST.payload, ...change } });

describe("decodeMcxRequest", () => {
  it("takes a whole request as it is [MCX-4]", () => {
    expect(decodeMcxRequest(REQUEST)).toEqual({ ok: true, request: REQUEST });
  });

  it("takes a request without user, security and metadata, and fields of a later minor version", () => {
    const context = { session_id: "s", request_id: "r", user_id: null, device: "phone" };
    const later = { ...payload({ context, security: null }), metadata: { hop: 1 }, extension: true };
    expect(wrongPlaces(later)).toEqual([]);
    expect(wrongPlaces(header({ version: "1.7", priority: 3 }))).toEqual([]);
  });

  it.each<[string, unknown]>([
    ["", null],
    ["", []],
    ["/header", { payload: REQUEST.payload }],
    ["/header/version", header({ version: "2.0" })],
    ["/header/version", header({ version: "10.0" })],
    ["/header/version", header({ version: 1 })],
    ["/header/messageId", header({ messageId: "" })],
    ["/header/timestamp", header({ timestamp: "yesterday" })],
    ["/header/timestamp", header({ timestamp: "2026-13-02T03:04:05Z" })],
    ["/header/messageType", header({ messageType: "response" })],
    ["/header/source", header({ source: undefined })],
    ["/header/destination", header({ destination: 5 })],
    ["/payload", { header: REQUEST.header }],
    ["/payload/tool", payload({ tool: "calculator" })],
    ["/payload/tool/id", payload({ tool: { ...REQUEST.payload.tool, id: 7 } })],
    ["/payload/tool/capability", payload({ tool: { ...REQUEST.payload.tool, capability: "" } })],
    ["/payload/tool/parameters", payload({ tool: { ...REQUEST.payload.tool, parameters: [] } })],
    ["/payload/context", payload({ context: undefined })],
    ["/payload/context/session_id", payload({ context: { request_id: "r" } })],
    ["/payload/context/request_id", payload({ context: { session_id: "s" } })],
    ["/payload/context/user_id", payload({ context: { ...REQUEST.payload.context, user_id: 3 } })],
    ["/payload/security/token", payload({ security: { token: {} } })],
    ["/payload/security/permissions", payload({ security: { permissions: "all" } })],
    ["/payload/security/permissions/1", payload({ security: { permissions: ["a", 1] } })],
    ["/metadata", { ...REQUEST, metadata: "x" }],
    ["/payload/document_context/document_refs", payload({ document_context: { document_refs: ["d"] } })],
    [
      "/payload/checkpoint_config/resume_from_checkpoint_id",
      payload({ checkpoint_config: { resume_from_checkpoint_id: "c-1" } }),
    ],
  ])("names only %s when only that is wrong [MCX-4]", (place, value) => {
    expect(wrongPlaces(value)).toEqual([place]);
  });

  it("names every wrong field of a message at once [MCX-4]", () => {
    const places = wrongPlaces({ header: {}, payload: { tool: {}, context: {} } });
    expect(places).toHaveLength(11);
    expect(places).toEqual(expect.arrayContaining(["/header/version", "/payload/tool/id"]));
  });

  it("bounds what it reports about a hostile message", () => {
    expect(wrongPlaces(payload({ security: { permissions: Array(10_000).fill(0) } }))).toHaveLength(100);
  });

  it("judges anything without throwing", () => {
    fc.assert(
      fc.property(fc.anything(), (value) => {
        expect(decodeMcxRequest(value).ok).toBe(false);
      }),
    );
  });
});

describe("callFromMcx", () => {
  it("orders what the request asks for [MCX-4]", () => {
    expect(callFromMcx(REQUEST)).toEqual({
      tool: "calculator",
      operation: "add",
      input: { a: 1, b: 2 },
      caller: { agent: "client-7", user: "u-1", session: "s-1" },
      callId: "m-1",
      correlationId: "r-1",
      token: "t-1",
      permissions: ["math.use"],
    });
  });

  it("leaves out what the request does not say, and an empty token [MCX-4]", () => {
    const context = { session_id: "s", request_id: "r" };
    const bare: McxRequest = {
      ...REQUEST,
      payload: { ...REQUEST.payload, context, security: { token: "" } },
    };
    expect(callFromMcx(bare)).toEqual({
      tool: "calculator",
      operation: "add",
      input: { a: 1, b: 2 },
      caller: { agent: "client-7", session: "s" },
      callId: "m-1",
      correlationId: "r",
    });
  });
});

describe("mcxResponse", () => {
  it("answers a success with its result, time and use of resources [MCX-5]", () => {
    expect(mcxResponse(succeeded({ sum: 3 }), REQUEST, STAMP)).toEqual({
      header: {
        version: "1.0",
        messageId: "m-2",
        timestamp: "2026-01-02T03:04:06Z",
        messageType: "response",
        requestId: "m-1",
        source: "sallyport",
        destination: "client-7",
      },
      payload: {
        tool: { id: "calculator", capability: "add" },
        execution: {
          status: "success",
          result: { sum: 3 },
          execution_time_ms: 124,
          resource_usage: { memory_bytes: 1_048_577, cpu_time_ms: 50 },
        },
      },
    });
  });

  it.each<[CallStatus, ErrorCode, string]>([
    ["timeout", "E3103", "timeout"],
    ["cancelled", "E3906", "cancelled"],
    ["error", "E3907", "failure"],
    ["permission_denied", "E3209", "failure"],
    ["pending_approval", "E3211", "failure"],
  ])("reports %s (%s) as %s, with an error and no result [MCX-5]", (status, code, reported) => {
    const { execution } = mcxResponse(failed(failure(code), status), REQUEST, STAMP).payload;
    expect(execution.status).toBe(reported);
    expect(execution.error?.details.code).toBe(code);
    expect(execution).not.toHaveProperty("result");
    expect(execution.error?.details.pending).toBe(status === "pending_approval" ? true : undefined);
  });
});

describe("mcxError", () => {
  it("is an error message with the body on top [MCX-6]", () => {
    const issues = [
      { path: "/a", reason: "must be a number", suggestion: "Send 1 instead of one." },
      { path: "/list/0", reason: "is missing" },
    ];
    expect(mcxError(failure("E3901", { issues }), STAMP, "m-1")).toEqual({
      header: { version: "1.0", ...STAMP, messageType: "error", requestId: "m-1" },
      error: {
        code: "VALIDATION_ERROR",
        message: CATALOGUE.E3901.title,
        details: {
          parameter: "a",
          reason: "must be a number",
          suggestion: "Send 1 instead of one.",
          code: "E3901",
          type: "ValidationError",
          retryable: false,
          issues,
        },
      },
    });
  });

  it("gives the message and the advice where no single field is wrong [MCX-6]", () => {
    const { header, error } = mcxError(failure("E3914", { details: { store: "sqlite" } }), STAMP);
    expect(header).not.toHaveProperty("requestId");
    expect(error.code).toBe("SYSTEM_ERROR");
    expect(error.details).toEqual({
      store: "sqlite",
      reason: CATALOGUE.E3914.title,
      suggestion: CATALOGUE.E3914.advice,
      code: "E3914",
      type: "SystemError",
      retryable: true,
    });
  });

  it("has a code of its own for each of the seven types [MCX-6]", () => {
    const codes = (Object.keys(CATALOGUE) as ErrorCode[]).map(
      (code) => mcxError(failure(code), STAMP).error.code,
    );
    const types = ["VALIDATION", "SECURITY", "EXECUTION", "RESOURCE", "TIMEOUT", "NOT_FOUND", "SYSTEM"];
    expect(new Set(codes)).toEqual(new Set(types.map((type) => `${type}_ERROR`)));
  });
});
