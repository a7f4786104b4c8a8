import { CATALOGUE, type ErrorCode, failure } from "@sallyport/protocol";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { backoffMs, DEFAULT_RETRY, mayRetry, retryPolicy } from "./retry.ts";

const codes = Object.keys(CATALOGUE) as ErrorCode[];

describe("retry", () => {
  it("happens by itself only for an idempotent tool on a resource or time failure [R1-7.3]", () => {
    for (const code of codes) {
      const error = failure(code, { retryable: true });
      const timely = ["ResourceError", "TimeoutError"].includes(CATALOGUE[code].failureClass);
      expect(mayRetry({ error, idempotent: true, attempts: 1 }, DEFAULT_RETRY), code).toBe(timely);
      expect(mayRetry({ error, idempotent: false, attempts: 1 }, DEFAULT_RETRY), code).toBe(false);
    }
  });

  it("stops after three retries [R1-7.3]", () => {
    const error = failure("E3103", { retryable: true });
    const tried = [1, 2, 3, 4].map((attempts) =>
      mayRetry({ error, idempotent: true, attempts }, DEFAULT_RETRY),
    );
    expect(tried).toEqual([true, true, true, false]);
  });

  it("follows the tool's own policy, which counts attempts", () => {
    const policy = retryPolicy({ maxAttempts: 2, baseDelayMs: 1, maxDelayMs: 2 }, DEFAULT_RETRY);
    expect(policy).toEqual({ maxRetries: 1, baseDelayMs: 1, maxDelayMs: 2 });
    expect(retryPolicy(undefined, DEFAULT_RETRY)).toBe(DEFAULT_RETRY);
  });

  it("is only of the errors a tool names, by code or kind, where it names any", () => {
    const retried = (retryableErrors: string[] | undefined, code: ErrorCode) => {
      const declared = {
        maxAttempts: 3,
        baseDelayMs: 1,
        maxDelayMs: 2,
        ...(retryableErrors && { retryableErrors }),
      };
      const error = failure(code, { retryable: true });
      return mayRetry({ error, idempotent: true, attempts: 1 }, retryPolicy(declared, DEFAULT_RETRY));
    };
    expect(retried(undefined, "E3103")).toBe(true);
    expect(retried(["E3103"], "E3103")).toBe(true);
    expect(retried(["timeout"], "E3103")).toBe(true);
    expect(retried(["E3102"], "E3103")).toBe(false);
    expect(retried([], "E3103")).toBe(false);
    expect(retried(["E3907", "tool_execution_error"], "E3907")).toBe(false);
  });

  it("waits anywhere between nothing and the doubled, capped delay [R1-7.3]", () => {
    const policy = { maxRetries: 9, baseDelayMs: 100, maxDelayMs: 1_000 };
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 40 }),
        fc.double({ min: 0, max: 0.999, noNaN: true }),
        (attempts, chance) => {
          const wait = backoffMs(attempts, policy, () => chance);
          expect(wait).toBe(chance * Math.min(1_000, 100 * 2 ** (attempts - 1)));
        },
      ),
    );
  });
});
