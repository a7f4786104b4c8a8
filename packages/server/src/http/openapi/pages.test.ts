import { CATALOGUE } from "@sallyport/protocol";
import { describe, expect, it } from "vitest";
import { defineRoute } from "../route.ts";
import { doorRoutes } from "../routes/index.ts";
import { curlExample } from "./curl-example.ts";
import { errorsPage } from "./errors-page.ts";
import { HOLLOW_PARTS } from "./hollow-parts.ts";
import { html, prose } from "./markup.ts";
import { operationsPage } from "./operations-page.ts";

const ORIGIN = "http://127.0.0.1:7420";
const routes = doorRoutes(HOLLOW_PARTS);
const page = operationsPage(routes, { origin: ORIGIN, version: "1.2.3" });

describe("the readable page", () => {
  it("has every operation with its path, who may use it and a line to try it with", () => {
    for (const route of routes) {
      expect(page).toContain(`<section id="${route.id}">`);
      const line = html`${curlExample(route, ORIGIN)}`;
      expect(page).toContain(line.text);
    }
  });

  it("has no script and asks no other address for anything", () => {
    for (const text of [page, errorsPage()]) {
      expect(text).not.toMatch(/<script|javascript:|\son\w+=|<link|<img|<iframe|@import|url\(/i);
      const addresses = text.match(/https?:\/\/[^\s"'<&]+/g) ?? [];
      expect(addresses.filter((one) => !one.startsWith(ORIGIN))).toEqual([]);
    }
  });

  it("leads to every shape it speaks of", () => {
    const wanted = new Set([...page.matchAll(/href="#([\w-]+)"/g)].map(([, anchor]) => anchor));
    for (const anchor of wanted) expect(page).toContain(`id="${anchor}"`);
    expect(page).toContain('id="shape-ToolInvokeRequest"');
    expect(page).toContain('id="shape-ProgressEvent"');
  });

  it("shows what comes from elsewhere as text", () => {
    const evil = '"><script>alert(1)</script>';
    const route = defineRoute({
      ...{ id: "evil", method: "GET", path: `/${evil}`, tag: evil, summary: evil, description: evil },
      access: "public",
      answers: { 200: { description: evil } },
      handle: () => ({ status: 200 }),
    });
    expect(operationsPage([route], { origin: `http://${evil}`, version: evil })).not.toContain("<script>");
  });
});

describe("the page of errors", () => {
  it("has an anchor for every code", () => {
    const text = errorsPage();
    for (const code of Object.keys(CATALOGUE)) expect(text).toContain(`<tr id="${code}">`);
  });
});

describe("curlExample", () => {
  const line = (id: string) => curlExample(routes.find((route) => route.id === id) ?? fail(), ORIGIN);

  it("can be pasted: the body's own example, and what has to be filled in in capitals", () => {
    expect(line("invokeTool")).toBe(
      `curl -s \\\n  '${ORIGIN}/v1/tools/invoke' \\\n  -H 'content-type: application/json' \\\n  -d '{"tool_id":"TOOL_ID","parameters":{}}'`,
    );
    expect(line("revokeGrant")).toContain("-X DELETE");
    expect(line("revokeGrant")).toContain("/v1/grants/GRANT_ID'");
    expect(line("watchInvocation")).toContain("curl -sN");
    expect(line("listGrants")).toContain('"authorization: Bearer $OPERATOR_KEY"');
  });
});

function fail(): never {
  throw new Error("there is no such route");
}

describe("markup", () => {
  it("escapes what is put into it, and marks code", () => {
    expect(html`<b>${"<&\"'>"}</b>`.text).toBe("<b>&lt;&amp;&quot;&#39;&gt;</b>");
    expect(prose("a `<b>` c").text).toBe("a <code>&lt;b&gt;</code> c");
  });
});
