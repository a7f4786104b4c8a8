import { homedir } from "node:os";
import { isAbsolute, join } from "node:path";
import { type ClientError, createClient } from "@sallyport/client";
import { createDiskCache } from "@sallyport/client/disk-cache";
import { createToolSearch, type FoundTools } from "@sallyport/client/search";
import { failure, isErrorCode, SallyportError } from "@sallyport/protocol";
import { Command, InvalidArgumentError } from "commander";
import { processEnvironment } from "../../config/environment.ts";
import { type Io, Output, table, visible } from "../io.ts";
import { readToken } from "../read-token.ts";

interface SearchFlags {
  gateway: string;
  limit: number;
  token?: string;
  json?: boolean;
}

const MAX_TOOLS = 100;
const TIMEOUT_MS = 30_000;

/** `sallyport tools search`: searches a gateway's catalogue here; it needs neither a configuration nor a state folder. */
export function searchCommand(io: Io): Command {
  return new Command("search")
    .description("search the tools of a gateway; its catalogue is kept in your cache folder")
    .argument("<query>", "words to look for; '' lists the first tools")
    .requiredOption("--gateway <url>", "address of the gateway")
    .option("--limit <n>", `maximum number of tools, 1 to ${MAX_TOOLS}`, toolCount, 10)
    .option("--token <@file|->", "capability token, from a file or standard input (or SALLYPORT_TOKEN)")
    .option("--json", "print one JSON document instead of text")
    .action(async (query: string, flags: SearchFlags) => {
      const output = new Output(io, flags.json === true);
      const token = await readToken(flags.token, io);
      const search = createToolSearch({
        client: clientOf(flags.gateway, token),
        // What a token may know of is for its caller alone; the next one may have another token.
        ...(token === undefined && { cache: createDiskCache({ folder: cacheFolder() }) }),
        onCacheError: (error) => output.note(visible(`! The catalogue is not kept: ${String(error)}`)),
      });
      const found = await search.search(query, { limit: flags.limit });
      if (!found.ok) throw new SallyportError(failureFrom(found.error));
      output.result(found.value, () => searchText(found.value, query));
    });
}

function toolCount(text: string): number {
  const count = Number(text);
  if (!Number.isInteger(count) || count < 1 || count > MAX_TOOLS)
    throw new InvalidArgumentError(`a whole number from 1 to ${MAX_TOOLS}`);
  return count;
}

function clientOf(url: string, token: string | undefined) {
  try {
    return createClient({ url, timeoutMs: TIMEOUT_MS, ...(token !== undefined && { token }) });
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    const message = `This gateway cannot be asked: ${error.message}.`;
    throw new SallyportError(failure("E3921", { message }), { cause: error });
  }
}

/** In the user's cache folder, so that it serves from wherever the command runs. */
function cacheFolder(): string {
  const { XDG_CACHE_HOME: own = "" } = processEnvironment();
  return join(isAbsolute(own) ? own : join(homedir(), ".cache"), "sallyport", "catalogues");
}

function failureFrom({ code, ...context }: ClientError) {
  const advice = "Give the address of a gateway; other servers have no domain to search in.";
  if (code === "E3930") return failure(code, { ...context, advice });
  return failure(isErrorCode(code) ? code : "E3304", context);
}

function searchText({ domain_id, version, tools, total }: FoundTools, query: string): string {
  const header = ["TOOL", "NAME", "CAPABILITIES", "DESCRIPTION"];
  const rows = tools.map(({ tool }) => [
    tool.tool_id,
    tool.display_name,
    tool.capabilities.join(", "),
    tool.description.slice(0, 60),
  ]);
  const domain = `${domain_id} ${version}`;
  const empty =
    total === 0
      ? `The domain ${domain} has no tools.`
      : `None of the ${total} tool(s) of ${domain} fits "${query}". Use other words, or '' to list the first ones.`;
  return table([header, ...rows], visible(empty));
}
