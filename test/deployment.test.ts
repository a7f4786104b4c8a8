import { existsSync, globSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { Ajv2020 } from "ajv/dist/2020.js";
import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import { loadConfig } from "../packages/server/src/config/load.ts";
import { readDomainPackage } from "../packages/server/src/gateway/read-package.ts";

/* No container engine runs here: what can be said of images and of the compose file is said by their texts. */

const ROOT = fileURLToPath(new URL("../", import.meta.url));
const DOMAIN = join(ROOT, "domains/example_domain");

function textOf(path: string): string {
  return readFileSync(join(ROOT, path), "utf8");
}

interface Service {
  build: { context: string; dockerfile: string };
  environment?: Record<string, string>;
}
const compose: { services: Record<string, Service> } = parse(textOf("compose.yaml"));

describe("compose.yaml", () => {
  const isCompose = new Ajv2020({ strict: false, logger: false }).compile(
    JSON.parse(textOf("test/fixtures/compose-spec.json")),
  );

  it("fits the Compose Specification, which refuses others [AX-DEP-1]", () => {
    expect([isCompose(compose), isCompose.errors]).toEqual([true, null]);
    for (const wrong of [{ image: 5 }, { biuld: "." }, { healthcheck: [] }]) {
      expect(isCompose({ services: { gateway: wrong } })).toBe(false);
    }
  });

  it("builds both services from this repository, and holds no secret", () => {
    expect(Object.keys(compose.services)).toEqual(["gateway", "tool-firecrawl"]);
    for (const { build, environment = {} } of Object.values(compose.services)) {
      expect(existsSync(join(ROOT, build.context, build.dockerfile))).toBe(true);
      expect(
        Object.keys(environment).filter((name) => /KEY|SECRET|TOKEN/.test(name) && !/_FILE$/.test(name)),
      ).toEqual([]);
    }
  });
});

/** Each Dockerfile, and the folder that it is built from. */
const DOCKERFILES = [
  ...Object.values(compose.services).map(({ build }) => [build.dockerfile, "."] as const),
  ...globSync("packages/server/templates/*/Dockerfile", { cwd: ROOT }).map(
    (file) => [file, dirname(file)] as const,
  ),
];

describe.each(DOCKERFILES)("%s", (file, context) => {
  const text = textOf(file).replaceAll(/\\\n\s*/g, "");
  const lines = (word: string) =>
    Array.from(text.matchAll(new RegExp(`^${word} (.+)$`, "gm")), ([, rest = ""]) => rest);

  it("has a stage to build in, a user without rights and a health check [AX-DEP-1]", () => {
    const stages = lines("FROM");
    expect(stages.length).toBeGreaterThan(1);
    expect(stages[0]).toMatch(/ AS build$/);
    const last = text.slice(text.lastIndexOf("\nFROM"));
    expect(last).toMatch(/^USER (?!root|0)\S+$/m);
    expect(last).toMatch(/^HEALTHCHECK .*CMD \[/m);
    expect(text).not.toMatch(/^(ENV|ARG) .*(KEY|SECRET|TOKEN)/m);
  });

  it("copies what is there", () => {
    const sources = lines("COPY")
      .filter((rest) => !rest.startsWith("--"))
      .flatMap((rest) => rest.split(" ").slice(0, -1))
      // Put there by hand, from `npm run pack`.
      .filter((source) => source !== "*.tgz");
    expect(sources.filter((source) => globSync(join(ROOT, context, source)).length === 0)).toEqual([]);
  });
});

describe("the gateway's own configuration", () => {
  it("is one that a server starts with", () => {
    const config = loadConfig({ file: join(ROOT, "deploy/gateway/sallyport.yaml"), cwd: ROOT });
    expect(config.http).toMatchObject({ host: "0.0.0.0", port: 7420, callers: "token" });
  });
});

describe("sallyport dev", () => {
  it("starts the workers of the compose file, under the same names", () => {
    const { processes } = parse(readFileSync(join(DOMAIN, "dev.yaml"), "utf8"));
    const workers = Object.entries<{ base_url?: string }>(processes).filter(([, one]) => one.base_url);
    const services = Object.keys(compose.services).filter((name) => name !== "gateway");
    expect(workers.map(([name, one]) => [name, one.base_url])).toEqual(
      services.map((name) => [name, `http://${name}:8080`]),
    );
  });
});

describe("domains/example_domain", () => {
  const manifest = parse(readFileSync(join(DOMAIN, "manifest.yaml"), "utf8"));
  const [tool] = manifest.tools;
  const schemaOf = (ref: string) =>
    new Ajv2020({ formats: { uri: true } }).compile(JSON.parse(readFileSync(join(DOMAIN, ref), "utf8")));

  it("is one that a gateway starts with [AX-PKG-1]", () => {
    expect(readDomainPackage(DOMAIN)).toMatchObject({ id: "example_domain", version: "0.1" });
  });

  it("is the domain of the specification, with the worker of the compose file [AX-PKG-1]", () => {
    expect(manifest).toMatchObject({ domain_id: "example_domain", version: "0.1" });
    expect(tool).toMatchObject({ tool_id: "firecrawl.crawl", kind: "service_worker", timeout_sec: 60 });
    expect(Object.keys(compose.services)).toContain(new URL(tool.transport.base_url).hostname);
  });

  it.each([
    [{ url: "https://example.com" }, true],
    [{ url: "https://example.com", mode: "crawl", max_pages: 3, formats: ["markdown", "text"] }, true],
    [{}, false],
    [{ url: "file:///etc/passwd" }, false],
    [{ url: "https://example.com", max_pages: 0 }, false],
    [{ url: "https://example.com", formats: ["pdf"] }, false],
    [{ url: "https://example.com", other: 1 }, false],
  ])("takes as input what the worker takes: %j is %s", (input, fits) => {
    expect(schemaOf(tool.input_schema_ref)(input)).toBe(fits);
  });

  it("describes what the worker gives", () => {
    const item = { url: "https://example.com", title: "Example", content: "# Example", format: "markdown" };
    const output = { source_url: item.url, items: [item], stats: { pages: 1 } };
    expect(schemaOf(tool.output_schema_ref)(output)).toBe(true);
    expect(schemaOf(tool.output_schema_ref)({ ...output, items: [{}] })).toBe(false);
  });
});
