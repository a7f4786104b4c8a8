import { join } from "node:path";
import { createContext, runInContext } from "node:vm";
import { rolldown } from "rolldown";
import { afterEach, beforeEach, expect, it } from "vitest";
import { FakeGateway } from "./fixtures/fake-gateway.ts";

/** What a page has. Nothing of Node is among it, so that a use of `process`, `Buffer` or `require` fails. */
const WEB = { AbortController, AbortSignal, fetch, TextDecoder, TextEncoder, URL, URLSearchParams };

let gateway: FakeGateway;
beforeEach(async () => {
  gateway = await new FakeGateway().open();
});
afterEach(() => gateway.close());

/** The entries as one script for a page, with MiniSearch in it. */
async function bundle(entries: string[]): Promise<{ code: string; imports: string[] }> {
  const text = entries.map((entry) => `export * from ${JSON.stringify(join(import.meta.dirname, entry))};`);
  const build = await rolldown({
    input: "page",
    platform: "browser",
    plugins: [
      {
        name: "page",
        resolveId: (id) => (id === "page" ? id : null),
        load: (id) => (id === "page" ? text.join("\n") : null),
      },
    ],
    onLog: () => undefined,
  });
  const { output } = await build.generate({ format: "iife", name: "sallyport", codeSplitting: false });
  await build.close();
  return { code: output[0].code, imports: output[0].imports };
}

it("the client and its search run where there is only the web [AX-SRCH-1]", async () => {
  const { code, imports } = await bundle(["index.ts", "search/index.ts"]);
  expect(imports).toEqual([]);
  expect(code).not.toMatch(/["']node:|\brequire\(/);
  const page = createContext({ ...WEB, url: gateway.url });
  runInContext(code, page);
  const use = `(async () => {
    const search = sallyport.createToolSearch({ client: sallyport.createClient({ url }) });
    const found = await search.search("crawl");
    const ran = await search.run(found.value.tools[0], { url: "x" });
    return JSON.stringify(ran.value.output);
  })()`;
  expect(await runInContext(use, page)).toBe('{"url":"x"}');
});

it("the cache on disk does not (so this test would see it)", async () => {
  const { imports } = await bundle(["disk-cache.ts"]);
  expect(imports).toContain("node:fs/promises");
});
