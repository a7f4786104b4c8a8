import { SallyportError } from "@sallyport/protocol";
import { expect, it } from "vitest";
import { failedBy, fateOf, unanswered } from "./failures.ts";

const coded = (code: string) => Object.assign(new Error("words"), { code });
/** As the driver makes it of an error that the server has sent. */
const sent = (code: string) => Object.assign(coded(code), { severity: "ERROR" });

it.for([
  ["40P01", "retry"],
  ["40001", "retry"],
  ["23505", "retry"],
  ["53300", "refused"],
  ["57P03", "refused"],
  ["25006", "refused"],
  ["57P01", "lost"],
  ["08006", "lost"],
  ["53100", "failed"],
  ["55P03", "failed"],
  ["57014", "failed"],
  ["22P02", "failed"],
] as const)("knows what %s means for a statement: %s [D-8]", ([code, fate]) => {
  expect(fateOf(sent(code))).toBe(fate);
});

it("knows that a refused connection has sent nothing [D-8]", () => {
  expect(fateOf(coded("ECONNREFUSED"))).toBe("refused");
});

it.for(["ECONNRESET", "EPIPE", "ETIMEDOUT", "ERR_SOCKET_CLOSED"])(
  "takes %s for a lost connection, never for an answer [D-8]",
  (code) => expect(fateOf(coded(code))).toBe("lost"),
);

it("takes an error of the driver without a code for a lost connection", () => {
  expect(fateOf(new Error("Connection terminated unexpectedly"))).toBe("lost");
});

it("says what an operator can do about a full disk, and does not wrap what is wrapped", () => {
  const { failure } = failedBy(coded("53100"), "The unit could not be written");
  expect(failure).toMatchObject({
    code: "E3914",
    message: "The unit could not be written: 53100: words",
    advice: expect.stringContaining("free some space"),
  });
  const wrapped = unanswered(coded("57P01"));
  expect(wrapped.failure.details).toEqual({ unanswered: true });
  expect(failedBy(wrapped, "x")).toBe(wrapped);
  expect(wrapped).toBeInstanceOf(SallyportError);
});
