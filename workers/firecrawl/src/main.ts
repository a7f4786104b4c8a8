import { defineWorker } from "@sallyport/worker";
import { apiKeyFrom } from "./api-key.ts";
import { firecrawlTool } from "./firecrawl-tool.ts";

/* The worker as a program: PORT and WORKER_HOST say where, FIRECRAWL_API_KEY or FIRECRAWL_API_KEY_FILE who pays. */

const tool = firecrawlTool({
  baseUrl: process.env.FIRECRAWL_BASE_URL || "https://api.firecrawl.dev",
  readKey: () => apiKeyFrom(process.env),
});
const worker = defineWorker({ tools: { "firecrawl.crawl": tool } });
const { url } = await worker.serve();
console.log(`POST ${url}/run`);
