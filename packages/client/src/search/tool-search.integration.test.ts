import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { createClient } from "../client.ts";
import type { Result } from "../client-error.ts";
import { FakeGateway, json, tool } from "../fixtures/fake-gateway.ts";
import type { Catalogue, CatalogueCache, CatalogueKey } from "./catalogue.ts";
import { createToolSearch, type FoundTool, type ToolSearchOptions } from "./tool-search.ts";

const RUN = "POST /v1/tools/firecrawl.crawl:run";
const ASK = "GET /v1/domain";
const LIST = "GET /v1/tools";

let gateway: FakeGateway;
beforeEach(async () => {
  gateway = await new FakeGateway().open();
});
afterEach(() => gateway.close());

function toolSearch(options: Partial<ToolSearchOptions> = {}) {
  return createToolSearch({ client: createClient({ url: gateway.url }), ...options });
}

function answered<T>(result: Result<T>): T {
  if (!result.ok) throw new Error(result.error.message);
  return result.value;
}

async function idsFor(query: string, search = toolSearch()): Promise<string[]> {
  return answered(await search.search(query)).tools.map(({ tool }) => tool.tool_id);
}

/** What a cache outside of this process does: only text survives. */
class TextCache implements CatalogueCache {
  readonly kept = new Map<string, string>();
  async get(key: CatalogueKey): Promise<unknown> {
    const text = this.kept.get(JSON.stringify(key));
    return text && JSON.parse(text);
  }
  async set(key: CatalogueKey, catalogue: Catalogue): Promise<void> {
    this.kept.set(JSON.stringify(key), JSON.stringify(catalogue));
  }
}

describe("searching", () => {
  beforeEach(() => {
    gateway.tools.push(
      tool("mail.send", { description: "Posts a letter", capabilities: ["email"], display_name: "Mail" }),
    );
  });

  it.each([
    ["crawl", ["firecrawl.crawl"]],
    ["craw", ["firecrawl.crawl"]],
    ["crowl", ["firecrawl.crawl"]],
    ["send EMAIL", ["mail.send"]],
    ["letter", ["mail.send"]],
    ["zeppelin", []],
    ["", ["firecrawl.scrape", "firecrawl.crawl", "mail.send"]],
    ["x".repeat(1_000_000), []],
  ])("finds the right tools first (query %#) [AX-SRCH-1]", async (query, ids) => {
    expect((await idsFor(query)).slice(0, ids.length || 1)).toEqual(ids);
  });

  it("gives at most as many as asked for, with the domain, and without health", async () => {
    const { tools, total, version } = answered(await toolSearch().search("pages", { limit: 1 }));
    expect([tools.length, total, version]).toEqual([1, 3, "0.1"]);
    expect(tools[0]?.tool).not.toHaveProperty("health");
  });

  it("cuts long texts for the index only", async () => {
    const long = "a".repeat(9_000);
    gateway.tools = [tool(`${long}.one`), tool(`${long}.two`, { description: "another" })];
    expect(await idsFor("another")).toEqual([`${long}.two`]);
  });

  it("takes another index in, and says when one fails", async () => {
    const makeIndex = () => ({
      search: () => [
        { tool_id: "mail.send", score: 1 },
        { tool_id: "gone", score: 0 },
      ],
    });
    expect(await idsFor("anything", toolSearch({ makeIndex }))).toEqual(["mail.send"]);
    const failing = () => Promise.reject(new Error("no model"));
    expect(await toolSearch({ makeIndex: failing }).search("x")).toMatchObject({
      error: { code: "E3005", message: "The index of tools failed: no model" },
    });
  });
});

describe("the catalogue", () => {
  it("is fetched once for a version, and again for another one [AX-SRCH-1]", async () => {
    const search = toolSearch();
    await search.search("crawl");
    expect(await idsFor("scrape", search)).toEqual(expect.arrayContaining(["firecrawl.scrape"]));
    gateway.domain = { ...gateway.domain, version: "0.2" };
    gateway.tools = [tool("mail.send")];
    expect(await idsFor("send", search)).toEqual(["mail.send"]);
    expect(gateway.lines).toEqual([ASK, LIST, ASK, ASK, LIST]);
  });

  it("outlives a search in a cache, under gateway, domain and version [AX-SRCH-1]", async () => {
    const cache = new TextCache();
    await idsFor("crawl", toolSearch({ cache }));
    expect(await idsFor("crawl", toolSearch({ cache }))).toEqual(["firecrawl.crawl"]);
    expect(gateway.lines).toEqual([ASK, LIST, ASK]);
    gateway.domain = { domain_id: "other", version: "0.1" };
    await idsFor("crawl", toolSearch({ cache }));
    await idsFor("crawl", createToolSearch({ client: createClient({ url: `${gateway.url}/x/..` }), cache }));
    expect([...cache.kept.keys()]).toEqual([
      JSON.stringify({ gateway: gateway.url, domain_id: "example_domain", version: "0.1" }),
      JSON.stringify({ gateway: gateway.url, domain_id: "other", version: "0.1" }),
    ]);
  });

  it.each<[string, unknown]>([
    ["nonsense", 7],
    ["another shape", { domain_id: "example_domain", version: "0.1", tools: [{}] }],
    ["the catalogue of another version", { domain_id: "example_domain", version: "0.0", tools: [] }],
    ["a tool twice", { domain_id: "example_domain", version: "0.1", tools: [tool("a"), tool("a")] }],
  ])("is fetched when the cache has %s", async (_name, value) => {
    const cache: CatalogueCache = { get: async () => value, set: async () => undefined };
    expect(await idsFor("crawl", toolSearch({ cache }))).toEqual(["firecrawl.crawl"]);
  });

  it("is fetched when the cache fails, and somebody is told", async () => {
    const told: unknown[] = [];
    const broken = () => Promise.reject(new Error("disk"));
    const search = toolSearch({
      cache: { get: broken, set: broken },
      onCacheError: (error) => told.push(error),
    });
    expect(await idsFor("crawl", search)).toEqual(["firecrawl.crawl"]);
    expect(told).toHaveLength(2);
  });

  it("with the same id twice is refused", async () => {
    gateway.tools = [tool("a"), tool("a")];
    expect(await toolSearch().search("a")).toMatchObject({ error: { code: "E3308" } });
  });
});

describe("running a tool that was found", () => {
  const search = () => toolSearch();
  const foundIn = async (own: ReturnType<typeof toolSearch>): Promise<FoundTool> => {
    const [first] = answered(await own.search("crawl")).tools;
    if (!first) throw new Error("nothing was found");
    // As another process would have it.
    return JSON.parse(JSON.stringify(first));
  };

  it("asks only for the domain while it is the same [AX-SRCH-1]", async () => {
    const own = search();
    const found = await foundIn(own);
    expect(await own.run(found, { url: "x" })).toMatchObject({ ok: true, value: { output: { url: "x" } } });
    expect(gateway.lines).toEqual([ASK, LIST, ASK, RUN]);
  });

  it("refreshes the catalogue after a domain swap and runs an unchanged tool [AX-SRCH-1]", async () => {
    const own = search();
    const found = await foundIn(own);
    gateway.domain = { domain_id: "next_domain", version: "7" };
    gateway.tools = [tool("mail.send"), tool("firecrawl.crawl", { health: "degraded" })];
    expect((await own.run(found, {})).ok).toBe(true);
    expect(gateway.lines.slice(2)).toEqual([ASK, LIST, RUN]);
    // The new catalogue is there for the next search.
    expect(await idsFor("send", own)).toEqual(["mail.send"]);
    expect(gateway.lines.slice(5)).toEqual([ASK]);
  });

  it.each([
    ["changed", "E3002", tool("firecrawl.crawl", { description: "Deletes the pages of a site." })],
    ["changed where its data may go", "E3002", tool("firecrawl.crawl", { egress_allowlist: ["*:443"] })],
    ["gone", "E3001", tool("mail.send")],
  ])("runs nothing when it is %s after a domain swap [AX-SRCH-1]", async (_name, code, now) => {
    const own = search();
    const found = await foundIn(own);
    gateway.domain = { ...gateway.domain, version: "0.2" };
    gateway.tools = [now];
    const refused = await own.run(found, {});
    expect(refused).toMatchObject({ ok: false, error: { code, retryable: false } });
    expect(refused).toHaveProperty("error.message", expect.stringContaining("Nothing ran"));
    expect(gateway.lines).not.toContain(RUN);
  });

  it("gives the gateway's errors back", async () => {
    const own = search();
    const found = await foundIn(own);
    gateway.answer(ASK, (response) => json(response, 500, "no"));
    expect(await own.run(found, {})).toMatchObject({ error: { code: "E3304", status: 500 } });
    expect(await own.search("x")).toMatchObject({ error: { code: "E3304", status: 500 } });
  });
});
