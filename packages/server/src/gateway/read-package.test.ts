import { mkdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { isFailure } from "@sallyport/protocol";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { DomainFolder, echoTool } from "./fixtures/domain-folder.ts";
import { readDomainPackage } from "./read-package.ts";

let folder: DomainFolder;
beforeEach(() => {
  folder = new DomainFolder();
});
afterEach(() => {
  folder.remove();
  // Beside it, for links that lead there.
  rmSync(`${folder.path}.json`, { force: true });
});

/** Each fault as `file:line reason → suggestion`. */
function faults(expectedId?: string): string[] {
  const read = readDomainPackage(folder.path, { expectedId });
  if (!isFailure(read)) return [];
  expect(read.code).toBe("E3919");
  return (read.issues ?? []).map(
    ({ path, reason, suggestion = "" }) => `${path.replace(/:\d+$/, "")} ${reason} → ${suggestion}`,
  );
}

const tool = (more: string) => echoTool("http://worker:8080", { more: `    ${more}\n` });

describe("a domain package", () => {
  it("becomes tools whose version is the domain's, completed to SemVer [AX-PKG-1] [AX-KIND-1]", () => {
    folder.write("schemas/echo.input.yaml", "type: object\nproperties: { text: { type: string } }\n");
    folder.write("job.sh", "#!/bin/sh\n");
    folder.manifest(
      `${echoTool("http://worker:8080")}  - { tool_id: a.job, kind: job_worker, command: [./job.sh], input_schema_ref: schemas/echo.input.yaml }\n`,
    );
    folder.write(
      "policies.yaml",
      "timeouts: { default_tool_timeout_sec: 7 }\nconcurrency: { max_inflight: 3 }\n",
    );
    const read = readDomainPackage(folder.path, { expectedId: "demo" });
    expect(read).toMatchObject({
      id: "demo",
      version: "0.1",
      policies: { maxInflight: 3, logLevel: "INFO", logsInput: false },
      tools: [
        {
          id: "demo.echo",
          version: "0.1.0",
          kind: "service_worker",
          sideEffects: "external",
          transport: { type: "http", baseUrl: "http://worker:8080", endpoint: "/run" },
          limits: { timeoutMs: 30_000 },
          egressAllowlist: ["api.example.com:443"],
          operations: { run: { inputSchema: { required: ["text"] }, outputSchema: { required: ["said"] } } },
          source: { metadata: { domain_id: "demo", domain_version: "0.1", capabilities: ["echo"] } },
        },
        {
          id: "a.job",
          kind: "job_worker",
          limits: { timeoutMs: 7_000 },
          egressAllowlist: [],
          source: { metadata: { command: ["./job.sh"] } },
        },
      ],
    });
  });

  it("tells every fault at once, with file and line [AX-PKG-1]", () => {
    folder.write("schemas/bad.json", '{\n  "type": "objekt"\n}');
    folder.manifest(`${tool("timeout: 3")}${echoTool("nowhere", { more: "    input_schema: x\n" })}`);
    folder.write("policies.yaml", "concurency: {}\nlogging: { level: LOUD }\n");
    expect(faults("other")).toEqual([
      'manifest.yaml:14 unknown key "timeout" → Did you mean "timeout_sec"?',
      "manifest.yaml:20 base_url must be an http or https address without a query → ",
      'manifest.yaml:25 unknown key "input_schema" → Did you mean "input_schema_ref"?',
      'policies.yaml:1 unknown key "concurency" → Did you mean "concurrency"?',
      'policies.yaml:2 level: "LOUD" is none of DEBUG, INFO, WARN, ERROR → Known: DEBUG, INFO, WARN, ERROR.',
    ]);
    folder.manifest(
      `${echoTool("http://u:p@worker:8080")}${echoTool("http://worker:8080").replace("echo.input", "missing")}${echoTool("http://worker:99999", { id: "b" }).replace("echo.input", "bad")}`,
    );
    folder.write(
      "policies.yaml",
      "concurrency: { per_tool_max_inflight: { demo.eco: 2 } }\nnetwork: { egress_allowlist: [other.example] }",
    );
    expect(faults("other")).toEqual([
      'manifest.yaml:1 domain_id is "demo", and the variable DOMAIN_ID says "other" → Load the package that is meant, or correct one of them.',
      "manifest.yaml:9 base_url holds a credential → Write scheme, host and port, such as http://tool-firecrawl:8080.",
      expect.stringMatching(/^manifest.yaml:13 "api.example.com:443" is not among network.egress_allowlist/),
      'manifest.yaml:14 the tool "demo.echo" stands here a second time; the first is in line 4 → Give each tool an id of its own.',
      expect.stringMatching(/^manifest.yaml:21 there is no "schemas\/missing.json" in the package/),
      expect.stringMatching(/^manifest.yaml:23 "api.example.com:443" is not among/),
      expect.stringMatching(/^manifest.yaml:29 base_url: "http:\/\/worker:99999" is no address/),
      expect.stringMatching(/^manifest.yaml:33 "api.example.com:443" is not among/),
      'policies.yaml:1 there is no tool "demo.eco" in the manifest → Did you mean "demo.echo"?',
      expect.stringMatching(/^schemas\/bad.json:2 \/type .+/),
    ]);
  });

  it.each([
    [
      "an unknown kind",
      () => folder.manifest(tool("").replace("service_worker", "servis_worker")),
      /^manifest.yaml:5 kind: "servis_worker" is none of .+ → Did you mean "service_worker"\?$/,
    ],
    [
      "no tools",
      () => folder.write("manifest.yaml", 'domain_id: a\nversion: "1"\ntools: []\n'),
      /^manifest.yaml:3 tools must have at least one entry/,
    ],
    [
      "an empty manifest",
      () => folder.write("manifest.yaml", ""),
      /^manifest.yaml:1 the file must be an object/,
    ],
    [
      "a version that is a number",
      () => folder.write("manifest.yaml", `domain_id: a\nversion: 0.1\ntools:\n${tool("")}`),
      /^manifest.yaml:2 version must be .+ → Write version: "0.1"\.$/,
    ],
    [
      "no manifest",
      () => rmSync(join(folder.path, "manifest.yaml")),
      /^manifest.yaml there is no "manifest.yaml" in the package → A domain package is/,
    ],
    [
      "no policies",
      () => rmSync(join(folder.path, "policies.yaml")),
      /^policies.yaml .+ → Make the file; an empty one means every default\.$/,
    ],
    [
      "a key twice",
      () => folder.manifest(tool("kind: service_worker")),
      /^manifest.yaml:14 the key "kind" stands here a second time/,
    ],
    [
      "a schema that is a link out of the package",
      () => {
        writeFileSync(`${folder.path}.json`, "{}");
        rmSync(join(folder.path, "schemas/echo.input.json"));
        symlinkSync(`${folder.path}.json`, join(folder.path, "schemas/echo.input.json"));
      },
      /^manifest.yaml:11 "schemas\/echo.input.json" leads outside of the package/,
    ],
    [
      "a schema above the package",
      () => {
        writeFileSync(`${folder.path}.json`, "{}");
        folder.manifest(tool("").replace("schemas/echo.input", `../${basename(folder.path)}`));
      },
      /^manifest.yaml:11 .+ leads outside of the package/,
    ],
    [
      "a schema that is too large",
      () => folder.write("schemas/echo.input.json", " ".repeat(1024 * 1024 + 1)),
      /^manifest.yaml:11 "schemas\/echo.input.json" is larger than/,
    ],
    [
      "a schema that is no object",
      () => folder.write("schemas/echo.input.json", "[]"),
      /^schemas\/echo.input.json:1 is no JSON Schema/,
    ],
    [
      "an image without a Dockerfile",
      () => {
        mkdirSync(join(folder.path, "images/echo"), { recursive: true });
        folder.manifest(tool("image: images/echo"));
      },
      /^manifest.yaml:14 there is no "images\/echo\/Dockerfile"/,
    ],
    [
      "a command that is not there",
      () => folder.manifest("  - { tool_id: j, kind: job_worker, command: [./job.sh] }\n"),
      /^manifest.yaml:4 there is no ".\/job.sh"/,
    ],
    [
      "a host that is none",
      () => folder.manifest(tool("").replace("api.example.com:443", "a b")),
      /^manifest.yaml:13 "a b" names no host/,
    ],
  ])("with %s is refused [AX-PKG-1]", (_, spoil, told) => {
    spoil();
    expect(faults()).toEqual([expect.stringMatching(told)]);
  });

  it("has its workers where WORKER_ADDRESSES says, checked like the manifest's own addresses", () => {
    folder.manifest(tool(""));
    const read = (addresses: string) => readDomainPackage(folder.path, { addresses });
    expect(read('{"http://worker:8080":"http://127.0.0.1:99"}')).toMatchObject({
      tools: [{ transport: { baseUrl: "http://127.0.0.1:99" } }],
    });
    expect(read('{"http://worker:8080":"nowhere"}')).toMatchObject({
      issues: [{ path: expect.stringMatching(/^manifest.yaml:9/) }],
    });
    for (const text of ["x", "[]", '{"http://worker:8080":1}'])
      expect(read(text)).toMatchObject({ code: "E3919", issues: [{ path: "WORKER_ADDRESSES" }] });
  });

  it("is given up after a thousand faults: to find the place of each takes as long as its file", () => {
    const lines = Array.from({ length: 40_000 }, (_, index) => `    x${index}: 1`);
    folder.write("policies.yaml", `concurrency:\n  per_tool_max_inflight:\n${lines.join("\n")}\n`);
    const read = readDomainPackage(folder.path);
    expect(read).toMatchObject({ message: expect.stringContaining("in 1000 or more places") });
  });

  it("is refused where there is none [AX-PKG-1]", () => {
    const read = readDomainPackage(join(folder.path, "nowhere"));
    expect(read).toMatchObject({ code: "E3919", issues: [{ reason: expect.stringContaining("ENOENT") }] });
  });
});
