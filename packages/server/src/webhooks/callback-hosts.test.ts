import { describe, expect, it } from "vitest";
import { hostProblem, refuseHost } from "./callback-hosts.ts";

describe("whom calls may have told", () => {
  it("is whoever can be reached, where the operator says nothing", () => {
    expect(hostProblem("https://anywhere.example/x", undefined)).toBeUndefined();
  });

  it("is nobody when it is switched off", () => {
    expect(refuseHost("https://anywhere.example/x", "off")).toMatchObject({
      code: "E3903",
      issues: [{ path: "/execution_options/callback_url" }],
    });
  });

  it.each([
    ["https://hooks.example.com/x", true],
    ["https://HOOKS.example.com./x", true],
    ["https://hooks.example.com:8443/x", true],
    ["https://a.partner.example/x", true],
    ["https://a.b.partner.example/x", true],
    ["https://partner.example/x", false],
    ["https://evilpartner.example/x", false],
    ["https://.partner.example/x", false],
    ["https://hooks.example.com.evil.example/x", false],
    ["https://evil.example/?hooks.example.com", false],
    ["https://hooks.example.com@evil.example/", false],
    ["no address", false],
  ])("is who stands on the list: %s", (url, isAllowed) => {
    const problem = hostProblem(url, ["hooks.example.com", "*.Partner.example"]);
    expect(problem === undefined).toBe(isAllowed);
  });

  it("is nobody when the list is empty", () => {
    expect(hostProblem("https://hooks.example.com/x", [])).toBeDefined();
  });
});
