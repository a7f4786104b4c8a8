import { describe, expect, it } from "vitest";
import { Outage } from "./outage.ts";

describe("an outage of a collector", () => {
  it("is said once when it begins and once when it is over", () => {
    const said: string[] = [];
    const outage = new Outage("traces", (message) => void said.push(message));
    outage.sent(undefined);
    outage.sent(new Error("connect ECONNREFUSED"));
    outage.sent(new Error("connect ECONNREFUSED"));
    outage.sent(undefined);
    outage.sent(undefined);
    outage.sent(new Error(""));
    expect(said).toEqual([
      "The collector does not take traces (connect ECONNREFUSED). Calls go on; what it misses is lost.",
      "The collector takes traces again.",
      "The collector does not take traces (no reason given). Calls go on; what it misses is lost.",
    ]);
  });
});
