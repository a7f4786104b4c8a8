import { describe, expect, it } from "vitest";
import { CATALOGUE, type CatalogueEntry, failure, isErrorCode, SallyportError } from "./catalogue.ts";
import { type FailureClass, TOOL_ERROR_KINDS } from "./families.ts";

const ENTRIES: [string, CatalogueEntry][] = Object.entries(CATALOGUE);

/** How many codes each range of the L3 document has, from x01 on. */
const L3_RANGES = { E30: 8, E31: 8, E32: 8, E33: 8, E34: 5, E35: 8, E36: 8, E37: 8 };

function codesOf(range: string, count: number): string[] {
  return Array.from({ length: count }, (_, index) => `${range}0${index + 1}`);
}

const HTTP_STATUSES = [
  202, 400, 401, 403, 404, 405, 408, 409, 410, 413, 414, 415, 417, 421, 422, 424, 429, 431, 500, 502, 503,
  504,
];

/** Every word that a dialect has for its errors, by the field of an entry. */
const WORDS = {
  "kind [L3-API-1]": TOOL_ERROR_KINDS,
  "failureClass [R1-7.1]":
    "ValidationError AuthorizationError ResourceError ExecutionError TimeoutError StateError".split(" "),
  "mcx [MCX-6]":
    "ValidationError SecurityError ExecutionError ResourceError TimeoutError NotFoundError SystemError".split(
      " ",
    ),
  ax: ["UPSTREAM_ERROR", "VALIDATION_ERROR", "TIMEOUT", "INTERNAL", "NOT_FOUND"],
  "srd [NFR-ERR-01] [NFR-ERR-02]": [
    ..."BadArgs Timeout SandboxViolation ExecutionFailed Cancelled UnknownTool DuplicateTool".split(" "),
    ..."DuplicateToolCallId PatchFailed StaleFile".split(" "),
    ..."Denylisted Disabled PathOutsideSandbox DeniedPatternMatched LimitsExceeded".split(" "),
  ],
  fixer: ["model", "caller", "operator"],
};

describe("the error catalogue", () => {
  it.each(Object.entries(L3_RANGES))("has every L3 code of %sxx (%i)", (range, count) => {
    expect(Object.keys(CATALOGUE)).toEqual(expect.arrayContaining(codesOf(range, count)));
  });

  it.each(Object.entries(WORDS))("uses every word of its vocabulary: %s", (name, words) => {
    const field = name.split(" ")[0] as keyof CatalogueEntry;
    expect(new Set(ENTRIES.map(([, entry]) => entry[field]))).toEqual(new Set(words));
  });

  it("cannot be changed at run time", () => {
    expect(Object.isFrozen(CATALOGUE)).toBe(true);
    expect(ENTRIES.every(([, entry]) => Object.isFrozen(entry))).toBe(true);
  });

  it("lists the codes in order", () => {
    expect(Object.keys(CATALOGUE)).toEqual(Object.keys(CATALOGUE).sort());
  });
});

const RETRYABLE: Record<FailureClass, boolean> = {
  ValidationError: false,
  AuthorizationError: false,
  ResourceError: true,
  ExecutionError: false,
  TimeoutError: true,
  StateError: false,
};

describe.each(ENTRIES)("%s", (code, entry) => {
  it("is retryable as its class is by default [R1-7.1]", () => {
    expect(entry.retryable).toBe(RETRYABLE[entry.failureClass]);
  });

  it("gives advice on one short line", () => {
    expect(entry.advice).toMatch(/^[A-Z][^\n]{0,158}\.$/);
    expect(entry.title).toMatch(/^[A-Z][^\n]*[^.\s]$/);
  });

  it("has a status, an HTTP status and a JSON-RPC code that fit together", () => {
    expect(code).toMatch(/^E3[0-9]{3}$/);
    expect(HTTP_STATUSES).toContain(entry.http);
    const refused = entry.status === "permission_denied" || entry.status === "pending_approval";
    expect(refused).toBe(entry.failureClass === "AuthorizationError");
    expect(entry.status === "timeout").toBe(entry.failureClass === "TimeoutError");
    expect(entry.jsonRpc === -32601).toBe(entry.mcx === "NotFoundError" || code === "E3014");
    expect(entry.jsonRpc <= -32600 || (entry.jsonRpc >= -32099 && entry.jsonRpc <= -32000)).toBe(true);
  });
});

describe("failure", () => {
  it("takes from the catalogue what the context does not say", () => {
    expect(failure("E3001")).toEqual({
      code: "E3001",
      message: CATALOGUE.E3001.title,
      retryable: false,
      advice: CATALOGUE.E3001.advice,
    });
  });

  it("lets the context have the last word on this one case", () => {
    const issues = [{ path: "/a", reason: "must be a number" }];
    const context = { message: "m", advice: "a", retryable: true, issues, details: { tool: "t" } };
    expect(failure("E3907", context)).toEqual({ code: "E3907", ...context });
  });

  it("has an exception form that keeps the failure and its cause", () => {
    const cause = new Error("disk full");
    const error = new SallyportError(failure("E3908"), { cause });
    expect(error.message).toBe(`E3908: ${CATALOGUE.E3908.title}`);
    expect(error.failure.code).toBe("E3908");
    expect(error.cause).toBe(cause);
  });
});

describe("isErrorCode", () => {
  it("knows the catalogue's codes and nothing an object inherits", () => {
    expect(["E3001", "E3999", "constructor", 3001].map(isErrorCode)).toEqual([true, false, false, false]);
  });
});
