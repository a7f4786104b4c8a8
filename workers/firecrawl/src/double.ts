import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as pause } from "node:timers/promises";
import { isJsonObject, type JsonObject, parseJsonObject } from "@sallyport/protocol";

/*
 * A stand-in for the Firecrawl API, for tests and for trying the worker without a key. The last word of the page's address
 * says how it misbehaves: https://example.com/slow, /garbage, /unauthorized, … Any other page is there.
 */

type Answer = (response: ServerResponse) => unknown;

function json(status: number, body: unknown): Answer {
  return (response) =>
    response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
}

const MISBEHAVIOURS: Readonly<Record<string, Answer>> = {
  slow: (response) => void pause(600_000, undefined, { ref: false }).then(() => response.end("{}")),
  garbage: (response) => response.end("<html>down for maintenance"),
  shapeless: json(200, { success: true, data: 5 }),
  unauthorized: json(401, { success: false, error: "Unauthorized: Invalid token" }),
  limited: json(429, { success: false, error: "Rate limit exceeded" }),
  "not-found": json(404, { success: false }),
  hostile: json(200, { success: true, data: { markdown: "[a](".repeat(100_000) + "[".repeat(1_000_000) } }),
  broken: json(500, { success: false }),
  elsewhere: (response) => response.writeHead(302, { location: "http://127.0.0.1:1/" }).end(),
  cut: (response) => {
    response.writeHead(200, { "content-length": 1_000 }).write("{");
    setTimeout(() => response.destroy(), 20);
  },
  endless: (response) => {
    const more = () => {
      while (!response.destroyed && response.write("x".repeat(65_536)));
    };
    response.on("drain", more);
    more();
  },
};

function page(url: string, formats: readonly unknown[]): JsonObject {
  const contents = { markdown: "# Example\n\nA [link](https://example.com/a).", html: "<h1>Example</h1>" };
  const given = Object.entries(contents).filter(([format]) => formats.includes(format));
  return { ...Object.fromEntries(given), metadata: { title: "Example", sourceURL: url, statusCode: 200 } };
}

/** What a request was, for tests to look at. */
export interface Asked {
  method: string;
  path: string;
  authorization: string | undefined;
  body: JsonObject;
}

export interface Double {
  url: string;
  asked: Asked[];
  close(): Promise<void>;
}

interface Job {
  pages: JsonObject[];
  polls: number;
  /** https://example.com/never: a crawl that does not end. */
  isEndless: boolean;
}

/** Starts it on this port of 127.0.0.1; 0 is any free one. */
export async function startDouble(port = 0): Promise<Double> {
  const asked: Asked[] = [];
  const jobs = new Map<string, Job>();
  const server = createServer(async (request, response) => {
    const one = await read(request);
    asked.push(one);
    answerTo(one, jobs)(response);
  });
  await new Promise<void>((resolve) => server.listen(port, "127.0.0.1", resolve));
  const close = () => {
    server.closeAllConnections();
    return new Promise<void>((resolve) => server.close(() => resolve()));
  };
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, asked, close };
}

async function read(request: IncomingMessage): Promise<Asked> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk);
  return {
    method: request.method ?? "",
    path: request.url ?? "",
    authorization: request.headers.authorization,
    body: parseJsonObject(Buffer.concat(chunks).toString()) ?? {},
  };
}

function answerTo({ method, path, authorization, body }: Asked, jobs: Map<string, Job>): Answer {
  if (!/^Bearer \S+$/.test(authorization ?? "")) return json(401, { success: false });
  const [, id] = path.match(/^\/v1\/crawl\/([^?]+)/) ?? [];
  if (id) return jobAnswer({ method, path, id }, jobs);
  const url = String(body.url);
  const misbehaves = MISBEHAVIOURS[url.split("/").at(-1) ?? ""];
  if (misbehaves) return misbehaves;
  if (path === "/v1/scrape") return json(200, { success: true, data: page(url, listIn(body.formats)) });
  if (path !== "/v1/crawl") return json(404, { success: false });
  return startJob(body, jobs);
}

function listIn(value: unknown): unknown[] {
  return Array.isArray(value) ? value : [];
}

const CRAWL_FIELDS = new Set(["url", "limit", "scrapeOptions"]);

function startJob(body: JsonObject, jobs: Map<string, Job>): Answer {
  if (Object.keys(body).some((name) => !CRAWL_FIELDS.has(name))) return json(400, { success: false });
  const formats = isJsonObject(body.scrapeOptions) ? listIn(body.scrapeOptions.formats) : [];
  const id = `job-${jobs.size + 1}`;
  const count = Math.min(Number(body.limit), 5);
  jobs.set(id, {
    pages: Array.from({ length: count }, (_, index) => page(`${body.url}/${index + 1}`, formats)),
    polls: 0,
    isEndless: String(body.url).endsWith("/never"),
  });
  return json(200, { success: true, id });
}

/** A job is under way at the first look, then gives three pages at a time. */
function jobAnswer(
  { method, path, id }: { method: string; path: string; id: string },
  jobs: Map<string, Job>,
): Answer {
  const job = jobs.get(id);
  if (method === "DELETE") return json(200, { status: "cancelled" });
  if (!job) return json(404, { success: false });
  job.polls += 1;
  if (job.polls === 1 || job.isEndless) return json(200, { status: "scraping", data: [] });
  const skip = Number(new URLSearchParams(path.split("?")[1]).get("skip") ?? 0);
  const hasMore = skip + 3 < job.pages.length;
  const next = hasMore ? { next: `https://api.firecrawl.dev/v1/crawl/${id}?skip=${skip + 3}` } : {};
  return json(200, { status: "completed", data: job.pages.slice(skip, skip + 3), ...next });
}

if (import.meta.main)
  console.log(
    `A stand-in for the Firecrawl API: ${(await startDouble(Number(process.env.PORT || 8090))).url}`,
  );
