import { describe, expect, it } from "vitest";
import { pathMatcher, routerPath } from "./path-pattern.ts";

describe("a route's path", () => {
  it.each([
    ["/v1/tools", "/v1/tools"],
    ["/v1/tools/{tool_id}/versions", "/v1/tools/:tool_id/versions"],
    ["/v1/audit:verify", "/v1/audit::verify"],
    ["/v1/invocations/{id}:cancel", "/v1/invocations/:id(.+)::cancel"],
  ])("%s is %s to the router", (path, routed) => {
    expect(routerPath(path)).toBe(routed);
  });

  it("is matched as the router does", () => {
    expect(pathMatcher("/v1/invocations/{id}:cancel").test("/v1/invocations/a:cancel")).toBe(true);
    expect(pathMatcher("/v1/invocations/{id}:cancel").test("/v1/invocations/a")).toBe(false);
    expect(pathMatcher("/openapi.json").test("/openapixjson")).toBe(false);
    expect(pathMatcher("/v1/tools/{id}").test("/v1/tools/a/b")).toBe(false);
  });

  it.each(["/a/{b}c", "/a/x{b}", "/a/{b", "/{a}:{b}"])("%s is none", (path) => {
    expect(() => routerPath(path)).toThrow(TypeError);
  });
});
