import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { WorkerAnswer } from "@sallyport/protocol";
import { defineWorker } from "@sallyport/worker";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { apiKeyFrom } from "./api-key.ts";
import { type Double, startDouble } from "./double.ts";
import { firecrawlTool } from "./firecrawl-tool.ts";

const KEY = "fc-secret-0123456789";
let double: Double;
const printed: unknown[] = [];
const worker = (env: NodeJS.ProcessEnv, baseUrl: string, timeoutMs: number) =>
  defineWorker({
    tools: {
      "firecrawl.crawl": firecrawlTool({
        baseUrl,
        readKey: () => apiKeyFrom(env),
        timeoutMs,
        pollMs: 5,
      }),
    },
    drainMs: 0,
    onError: (error) => printed.push(error),
  });

beforeAll(async () => {
  double = await startDouble();
});
afterAll(() => double.close());

interface Ask {
  env?: NodeJS.ProcessEnv;
  baseUrl?: string;
  aheadMs?: number;
  timeoutMs?: number;
}

/** The answer of the worker, as a gateway gets it. */
async function run(input: object, ask: Ask = {}) {
  const {
    env = { FIRECRAWL_API_KEY: KEY },
    baseUrl = double.url,
    aheadMs = 60_000,
    timeoutMs = 30_000,
  } = ask;
  const asked = worker(env, baseUrl, timeoutMs);
  const { url } = await asked.listen({ port: 0 });
  const deadline_ms = Date.now() + aheadMs;
  const meta = { trace_id: "t", tool_run_id: "r", domain_id: "d", deadline_ms };
  const headers = { "content-type": "application/json" };
  const body = JSON.stringify({ meta, input });
  const response = await fetch(`${url}/run`, { method: "POST", headers, body });
  const text = await response.text();
  await asked.close();
  expect(text).not.toContain(KEY);
  expect(printed).toEqual([]);
  return JSON.parse(text) as WorkerAnswer & { output: unknown; error: unknown };
}

const ITEM = { url: "https://example.com/a", title: "Example" };
const MARKDOWN = "# Example\n\nA [link](https://example.com/a).";

describe("the Firecrawl worker", () => {
  it("reads one page in the formats asked for [AX-FC-1]", async () => {
    const { output } = await run({ url: ITEM.url, formats: ["markdown", "html", "text"] });
    expect(output).toEqual({
      source_url: ITEM.url,
      items: [
        { ...ITEM, content: MARKDOWN, format: "markdown" },
        { ...ITEM, content: "<h1>Example</h1>", format: "html" },
        { ...ITEM, content: "Example\n\nA link.", format: "text" },
      ],
      stats: { pages: 1 },
    });
    expect(double.asked.at(-1)).toEqual({
      method: "POST",
      path: "/v1/scrape",
      authorization: `Bearer ${KEY}`,
      body: { url: ITEM.url, formats: ["markdown", "html"] },
    });
  });

  it("makes text of a page that was written to take long, and goes on at once", async () => {
    const { output } = await run({ url: "https://example.com/hostile", formats: ["text"] });
    expect(output).toMatchObject({ stats: { pages: 1 } });
  });

  it("asks an API that is below a path", async () => {
    await run({ url: ITEM.url }, { baseUrl: `${double.url}/below/` });
    expect(double.asked.at(-1)).toMatchObject({ path: "/below/v1/scrape" });
  });

  it.each([
    [{ max_pages: 4 }, 4],
    [{}, 5],
  ])("crawls the pages below an address: %j [AX-FC-1]", async (more, pages) => {
    const { output } = await run({ url: "https://example.com", mode: "crawl", ...more });
    expect(output).toMatchObject({ source_url: "https://example.com", stats: { pages } });
    expect(output).toHaveProperty("items.length", pages);
    expect(output).toHaveProperty("items.3.url", "https://example.com/4");
  });

  it.each<[page: string, code: string, retryable: boolean]>([
    ["unauthorized", "UPSTREAM_ERROR", true],
    ["limited", "UPSTREAM_ERROR", false],
    ["not-found", "UPSTREAM_ERROR", false],
    ["elsewhere", "UPSTREAM_ERROR", false],
    ["broken", "UPSTREAM_ERROR", true],
    ["garbage", "UPSTREAM_ERROR", true],
    ["shapeless", "UPSTREAM_ERROR", true],
    ["cut", "UPSTREAM_ERROR", true],
    ["endless", "UPSTREAM_ERROR", false],
    ["slow", "TIMEOUT", true],
  ])("says what became of a request that the API answers so: %s [AX-FC-1]", async (page, code, retryable) => {
    for (const mode of ["scrape", "crawl"]) {
      const ask = page === "slow" ? { timeoutMs: 100 } : {};
      const { error } = await run({ url: `https://example.com/${page}`, mode }, ask);
      expect(error).toMatchObject({ code, retryable });
    }
  });

  it("says that an API is down which cannot be reached", async () => {
    const { error } = await run({ url: ITEM.url }, { baseUrl: "http://127.0.0.1:1" });
    expect(error).toMatchObject({ code: "UPSTREAM_ERROR", retryable: true });
  });

  it("ends a crawl at the deadline, and tells the API", async () => {
    const { error } = await run({ url: "https://example.com/never", mode: "crawl" }, { aheadMs: 1_500 });
    expect(error).toMatchObject({ code: "TIMEOUT", retryable: true });
    await expect.poll(() => double.asked.at(-1)?.method).toBe("DELETE");
  });

  it.each([
    [{}],
    [{ url: "file:///etc/passwd" }],
    [{ url: ITEM.url, mode: "map" }],
    [{ url: ITEM.url, max_pages: 0 }],
    [{ url: ITEM.url, formats: ["pdf"] }],
    [{ url: ITEM.url, more: 1 }],
  ])("refuses %j as VALIDATION_ERROR", async (input) => {
    expect((await run(input)).error).toMatchObject({ code: "VALIDATION_ERROR", retryable: false });
  });
});

describe("the key", () => {
  const folder = mkdtempSync(join(tmpdir(), "sallyport-firecrawl-"));
  afterAll(() => rmSync(folder, { recursive: true }));
  const file = join(folder, "key");

  it("comes from a file too, without a restart when it changes", async () => {
    const env = { FIRECRAWL_API_KEY_FILE: file };
    for (const key of ["fc-one", "fc-two"]) {
      writeFileSync(file, `${key}\n`);
      await run({ url: ITEM.url }, { env });
      expect(double.asked.at(-1)?.authorization).toBe(`Bearer ${key}`);
    }
  });

  it.each([
    ["is missing", {}],
    ["is in a file that is not there", { FIRECRAWL_API_KEY_FILE: join(folder, "none") }],
    ["has a line break", { FIRECRAWL_API_KEY: `${KEY}\n${KEY}` }],
  ])("that %s is UPSTREAM_ERROR, not retryable, and no request is made", async (_what, env) => {
    const before = double.asked.length;
    const { error } = await run({ url: ITEM.url }, { env });
    expect(error).toMatchObject({ code: "UPSTREAM_ERROR", retryable: false });
    expect(double.asked).toHaveLength(before);
  });
});
