import { mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { FakeGateway, json, tool } from "../../../../client/src/fixtures/fake-gateway.ts";
import { runLine } from "../fixtures/run-line.ts";

let gateway: FakeGateway;
let cwd = "";
beforeEach(async () => {
  gateway = await new FakeGateway().open();
  cwd = mkdtempSync(join(tmpdir(), "sallyport-search-"));
  vi.stubEnv("XDG_CACHE_HOME", join(cwd, "cache"));
  vi.stubEnv("SALLYPORT_TOKEN", undefined);
});
afterEach(async () => {
  vi.unstubAllEnvs();
  rmSync(cwd, { recursive: true });
  await gateway.close();
});

const search = (...words: string[]) => runLine(cwd, ["tools", "search", ...words, "--gateway", gateway.url]);

describe("sallyport tools search", () => {
  it("finds a gateway's tools, and asks for the catalogue only once [AX-SRCH-1]", async () => {
    const first = await search("crawl");
    expect(first).toMatchObject({ code: 0, err: "" });
    expect(first.out).toMatch(
      /^TOOL +NAME +CAPABILITIES +DESCRIPTION\nfirecrawl\.crawl +Firecrawl crawl +web, crawl/,
    );
    const second = await search("pages", "--limit", "1", "--json");
    expect(JSON.parse(second.out)).toMatchObject({ domain_id: "example_domain", total: 2, tools: [{}] });
    expect(gateway.lines).toEqual(["GET /v1/domain", "GET /v1/tools", "GET /v1/domain"]);
    expect(readdirSync(cwd)).toEqual(["cache"]);
  });

  it("says what to do when nothing fits, and when there is nothing", async () => {
    const none = await search("zeppe\u001b[2Jlin");
    expect(none).toMatchObject({ code: 0 });
    expect(none.out).toMatch(/None of the 2 tool\(s\) of example_domain 0\.1 fits "zeppe\\u001b\[2Jlin"/);
    expect((await search("")).out).toMatch(/firecrawl\.scrape[\s\S]*firecrawl\.crawl/);
    gateway.domain = { domain_id: "bare", version: "1" };
    gateway.tools = [];
    expect((await search("crawl")).out).toBe("The domain bare 1 has no tools.\n");
  });

  it("shows no control characters of a gateway", async () => {
    gateway.tools = [tool("a.crawl", { description: "crawl\u001b[2J" })];
    expect((await search("crawl")).out).toContain("crawl\\u001b[2J");
  });

  it("goes on when the cache folder cannot be used, and says so", async () => {
    writeFileSync(join(cwd, "cache"), "a file");
    expect(await search("crawl")).toMatchObject({
      code: 0,
      out: expect.stringContaining("firecrawl.crawl"),
      err: expect.stringContaining("The catalogue is not kept"),
    });
  });

  it("sends the token from a file and does not print it", async () => {
    writeFileSync(join(cwd, "token"), "secret-of-the-caller\n");
    gateway.answer("GET /v1/domain", (response, { authorization }) => json(response, 500, authorization));
    const refused = await search("crawl", "--token", "@token");
    expect(gateway.seen[0]?.authorization).toBe("Bearer secret-of-the-caller");
    expect(refused).toMatchObject({ code: 1, err: expect.stringContaining("E3304") });
    expect(refused.out + refused.err).not.toContain("secret-of-the-caller");
  });

  it("keeps no catalogue of a token: the next caller may have to see other tools", async () => {
    vi.stubEnv("SALLYPORT_TOKEN", "token-of-somebody-else");
    expect((await search("")).out).toContain("firecrawl.crawl");
    vi.stubEnv("SALLYPORT_TOKEN", undefined);
    gateway.tools = [tool("public.one")];
    expect((await search("")).out).not.toContain("firecrawl.crawl");
  });

  it.each([
    [["--gateway", "http://127.0.0.1:1"], 1, "ECONNREFUSED|cannot be reached"],
    [["--gateway", "https://me:word@host"], 2, "E3921"],
    [["--gateway", "gateway"], 2, "no http or https address"],
    [["--gateway", "http://127.0.0.1:1", "--limit", "0"], 2, "from 1 to 100"],
    [[], 2, "--gateway"],
  ])("with %j ends with code %i", async (options, code, words) => {
    const ended = await runLine(cwd, ["tools", "search", "x", ...options]);
    expect(ended).toMatchObject({ code, err: expect.stringMatching(words) });
  });
});
