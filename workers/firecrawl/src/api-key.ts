import { readFile } from "node:fs/promises";
import { ToolError } from "@sallyport/worker";

/** What an HTTP header can carry. A key that does not fit would be quoted by the error of whoever tries. */
const HEADER_TEXT = /^[\x21-\x7e]+$/;

/**
 * The key of the Firecrawl API: FIRECRAWL_API_KEY, or the contents of the file that FIRECRAWL_API_KEY_FILE names, read
 * for each run so that a new key needs no restart. Rejects when there is none, without a word of what was read.
 */
export async function apiKeyFrom(env: NodeJS.ProcessEnv): Promise<string> {
  const { FIRECRAWL_API_KEY: own, FIRECRAWL_API_KEY_FILE: file } = env;
  if (own) return checked(own.trim());
  if (!file) throw new ToolError("UPSTREAM_ERROR", "FIRECRAWL_API_KEY is not set.");
  return checked(await contents(file));
}

async function contents(file: string): Promise<string> {
  try {
    return (await readFile(file, "utf8")).trim();
  } catch {
    throw new ToolError("UPSTREAM_ERROR", "The file that FIRECRAWL_API_KEY_FILE names cannot be read.");
  }
}

function checked(key: string): string {
  if (HEADER_TEXT.test(key)) return key;
  throw new ToolError("UPSTREAM_ERROR", "The Firecrawl API key is empty, or has characters that no key has.");
}
