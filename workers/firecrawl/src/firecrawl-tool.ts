import { setTimeout as pause } from "node:timers/promises";
import {
  absentOr,
  exactRecord,
  type Infer,
  type Issue,
  isJsonObject,
  type JsonObject,
  type JsonValue,
  listOf,
  oneOf,
  positiveInteger,
  webAddress,
} from "@sallyport/protocol";
import { type ToolContext, ToolError, type WorkerTool } from "@sallyport/worker";
import { Upstream } from "./upstream.ts";

const inputField = exactRecord({
  url: webAddress,
  mode: absentOr(oneOf(["crawl", "scrape"])),
  max_pages: absentOr(positiveInteger),
  formats: absentOr(listOf(oneOf(["markdown", "html", "text"]))),
});
type Input = Infer<typeof inputField>;
type Format = NonNullable<Input["formats"]>[number];

export interface FirecrawlOptions {
  baseUrl: string;
  /** Rejects with a `ToolError` when there is no key. */
  readKey(): Promise<string>;
  timeoutMs?: number;
  /** How long to wait before asking for a crawl's pages again. */
  pollMs?: number;
}

/** How many pages a crawl reads when the caller does not say: the API's own answer would be ten thousand. */
const DEFAULT_PAGES = 10;

/** The tool `firecrawl.crawl`: one page, or the pages below an address, by the Firecrawl API (AX-FC-1). */
export function firecrawlTool({
  baseUrl,
  readKey,
  timeoutMs = 30_000,
  pollMs = 1_000,
}: FirecrawlOptions): WorkerTool {
  return {
    validate,
    async run(input: Input, { signal, traceHeaders }: ToolContext) {
      const key = await readKey();
      const upstream = new Upstream({ baseUrl, key, timeoutMs, signal, headers: traceHeaders });
      const pages =
        input.mode === "crawl"
          ? await crawl(upstream, input, () => pause(pollMs, undefined, { signal }))
          : [await scrape(upstream, input)];
      const items = pages.flatMap((page) => itemsOf(page, input));
      return { source_url: input.url, items, stats: { pages: pages.length } };
    },
  };
}

function validate(input: JsonObject): Issue[] {
  const issues: Issue[] = [];
  inputField(input, "", issues);
  return issues;
}

function formatsOf({ formats }: Input): Format[] {
  return formats && formats.length > 0 ? formats : ["markdown"];
}

/** The API has no plain text; it is made from Markdown. */
function askedOf(input: Input): string[] {
  return [...new Set(formatsOf(input).map((format) => (format === "text" ? "markdown" : format)))];
}

function unexpected(): ToolError {
  return new ToolError("UPSTREAM_ERROR", "Firecrawl's answer has another shape.", { retryable: true });
}

async function scrape(upstream: Upstream, input: Input): Promise<JsonObject> {
  const { data } = await upstream.post("/v1/scrape", { url: input.url, formats: askedOf(input) });
  if (!isJsonObject(data)) throw unexpected();
  return data;
}

/** The API refuses fields that it does not know: the number of pages is `limit`, and formats are scrape options. */
async function crawl(upstream: Upstream, input: Input, wait: () => Promise<void>): Promise<JsonObject[]> {
  const limit = input.max_pages ?? DEFAULT_PAGES;
  const started = await upstream.post("/v1/crawl", {
    url: input.url,
    limit,
    scrapeOptions: { formats: askedOf(input) },
  });
  if (Array.isArray(started.data)) return pagesOf(started.data).slice(0, limit);
  if (typeof started.id !== "string") throw unexpected();
  const path = `/v1/crawl/${encodeURIComponent(started.id)}`;
  try {
    return await pagesOfJob(upstream, { path, limit, wait });
  } catch (error) {
    await upstream.cancel(path);
    throw error;
  }
}

interface Job {
  path: string;
  limit: number;
  wait(): Promise<void>;
}

async function pagesOfJob(upstream: Upstream, { path, limit, wait }: Job): Promise<JsonObject[]> {
  let answer = await upstream.get(path);
  while (answer.status === "scraping") {
    await wait();
    answer = await upstream.get(path);
  }
  if (answer.status !== "completed") {
    throw new ToolError("UPSTREAM_ERROR", "Firecrawl did not complete the crawl.", { retryable: true });
  }
  const pages = pagesOf(answer.data);
  while (typeof answer.next === "string" && pages.length < limit) {
    // Only where in the same job: the key goes to no other address.
    answer = await upstream.get(`${path}${URL.parse(answer.next)?.search ?? ""}`);
    const more = pagesOf(answer.data);
    if (more.length === 0) break;
    pages.push(...more);
  }
  return pages.slice(0, limit);
}

function pagesOf(data: JsonValue | undefined): JsonObject[] {
  if (Array.isArray(data) && data.every(isJsonObject)) return data;
  throw unexpected();
}

function itemsOf(page: JsonObject, input: Input): JsonObject[] {
  const metadata = isJsonObject(page.metadata) ? page.metadata : {};
  const { sourceURL, title } = metadata;
  return formatsOf(input).flatMap((format) => {
    const content = contentOf(page, format);
    if (content === undefined) return [];
    const url = typeof sourceURL === "string" ? sourceURL : input.url;
    return [{ url, ...(typeof title === "string" && { title }), content, format }];
  });
}

function contentOf({ markdown, html }: JsonObject, format: Format): string | undefined {
  const content = format === "html" ? html : markdown;
  if (typeof content !== "string") return undefined;
  return format === "text" ? plainText(content) : content;
}

/** A link or an image, its address with one level of brackets. No bracket within its text: looking for its end stays short. */
const LINK = /!?\[([^[\]\n]*)\]\((?:[^()\n]|\([^()\n]*\))*\)/g;

/** Markdown without its marks, in time that grows with its length alone: whoever wrote a page may mean harm. */
function plainText(markdown: string): string {
  return markdown
    .replaceAll(LINK, "$1")
    .replaceAll(/^[ \t]*(?:#{1,6}|>|[-*+])[ \t]+/gm, "")
    .replaceAll(/\*\*|__|`+/g, "");
}
