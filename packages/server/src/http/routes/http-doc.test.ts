import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { describedRoutes } from "../openapi/render-document.ts";

const DOC = new URL("../../../../../docs/http.md", import.meta.url);

describe("docs/http.md", () => {
  it("lists every route there is, and no other", () => {
    const listed = [...readFileSync(DOC, "utf8").matchAll(/^\| `((?:GET|POST|DELETE) \S+)` \|/gm)].map(
      ([, route]) => route,
    );
    const known = describedRoutes().map(({ method, path }) => `${method} ${path}`);
    expect(listed.sort()).toEqual(known.sort());
  });
});
