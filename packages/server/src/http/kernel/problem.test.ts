import { CATALOGUE, type ErrorCode, failure } from "@sallyport/protocol";
import { describe, expect, it } from "vitest";
import { problemHeaders, problemOf, retryAfter } from "./problem.ts";

const CODES = Object.keys(CATALOGUE) as ErrorCode[];

describe("problem details", () => {
  it("take everything from the failure and the catalogue", () => {
    const issues = [{ path: "/a", reason: "is missing" }];
    const failed = failure("E3903", { message: "m", advice: "a", issues, details: { x: 1 } });
    expect(problemOf(failed, { instance: "/v1/invocations/c-1" })).toEqual({
      type: "/docs/errors#E3903",
      title: "Malformed request",
      status: 400,
      detail: "m",
      instance: "/v1/invocations/c-1",
      code: "E3903",
      advice: "a",
      retryable: false,
      issues,
      details: { x: 1 },
    });
  });

  it.each(CODES)("of %s come with the headers their status asks for", (code) => {
    const { http } = CATALOGUE[code];
    const headers = problemHeaders(failure(code, { details: { allow: "GET" } }));
    expect(headers["www-authenticate"] !== undefined).toBe(http === 401);
    expect(headers["retry-after"] !== undefined).toBe(http === 429 || http === 503);
    expect(headers.allow !== undefined).toBe(http === 405);
  });

  it("tell one who showed nothing from one whose credential is no good", () => {
    expect(problemHeaders(failure("E3938"))["www-authenticate"]).not.toContain("invalid_token");
    expect(problemHeaders(failure("E3202"))["www-authenticate"]).toContain('error="invalid_token"');
  });

  it.each([
    [undefined, "1"],
    [0, "1"],
    [1_001, "2"],
    [90_000, "90"],
    ["soon", "1"],
  ])("ask to wait %s ms as %s s", (retryAfterMs, seconds) => {
    const details = retryAfterMs === undefined ? {} : { retryAfterMs };
    expect(retryAfter(failure("E3910", { details }))).toBe(seconds);
  });
});
