import { realpathSync } from "node:fs";
import { join } from "node:path";
import { createEngine, createMemoryStore, grantAuthority } from "@sallyport/engine";
import type { Runner } from "@sallyport/engine/ports";
import { failure, isFailure, SallyportError } from "@sallyport/protocol";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { referenceIssues } from "../cli/commands/config-references.ts";
import { ConfigFolder } from "../config/fixtures/config-folder.ts";
import { SwitchedOffTools } from "../http/switched-off-tools.ts";
import { hiddenPaths } from "../runtime/isolation.ts";
import { operatorLimitsOf } from "../runtime/operator-limits.ts";
import { DomainFolder, echoTool } from "./fixtures/domain-folder.ts";
import {
  configuredDomain,
  domainRefusal,
  Gateway,
  grantsWithoutFile,
  unannouncedTools,
  workerSecretOf,
} from "./gateway.ts";
import { type DomainPackage, readDomainPackage } from "./read-package.ts";

let folder: DomainFolder;
let config: ConfigFolder;
beforeEach(() => {
  folder = new DomainFolder();
  config = new ConfigFolder();
});
afterEach(() => {
  folder.remove();
  config.remove();
});

function read(): DomainPackage {
  const found = readDomainPackage(folder.path);
  if (isFailure(found)) throw new SallyportError(found);
  return found;
}

/** Runs nothing, and says which implementation it was asked to run. */
function silent(kind: string, toolKind: string): Runner {
  return {
    kind,
    isolation: { level: "LEVEL_0", runner: kind },
    bind: (manifest) => (manifest.kind === toolKind ? { kind } : undefined),
    run: () => ({ ok: true, output: { said: kind }, usage: { cpuMs: 0, memoryPeakBytes: 0 } }),
    close: async () => undefined,
  };
}

function gatewayOf(domain: DomainPackage): Gateway {
  const services = { ...silent("worker", "service_worker"), watch: () => undefined };
  return new Gateway(domain, {
    services: { ...services, health: () => [], probe: async () => [] },
    jobs: silent("job_worker", "job_worker"),
  });
}

describe("a gateway", () => {
  it("gives code to the tools of its domain alone, in the version it has now [AX-INV-4] [AX-INV-5]", async () => {
    const gateway = gatewayOf(read());
    const options = {
      store: createMemoryStore(),
      authority: grantAuthority([
        { id: "all", tools: ["*"], operations: ["*"], agents: ["*"], tenants: ["*"], capabilities: [] },
      ]),
      ...{ runners: gateway.runners, onlyGivenRunners: true },
    };
    const engine = await createEngine(options);
    const call = async (tool: string, version?: string) => {
      const caller = { tenant: "t", agent: "a" };
      const answer = await engine.call({ tool, input: { text: "x" }, caller, ...(version && { version }) });
      return answer.status === "success" ? answer.result : answer.error.code;
    };
    await gateway.register(engine);
    expect(await call("demo.echo")).toEqual({ said: "worker" });
    // Of another process on the same store, of a module, of an embedder: nothing of it gets code here.
    const [own] = read().tools;
    await engine.tools.register({ ...own, id: "other.tool" });
    await engine.tools.register({ ...own, version: "0.9.0" });
    expect(await call("other.tool")).toBe("E3920");
    expect(await call("demo.echo", "0.9.0")).toBe("E3920");
    const operations = { run: () => expect.unreachable() };
    const inline = await engine.tools.register(
      { ...own, id: "inline.tool", kind: "function" },
      { implementation: { kind: "inline", operations } },
    );
    expect(inline).toMatchObject({ code: "E3101" });
    await engine.close();
  });

  it("holds a tool to the stricter of its domain's policies and the configuration [AX-POL-1]", () => {
    folder.write(
      "policies.yaml",
      "concurrency: { max_inflight: 6, max_queued: 9, per_tool_max_inflight: { demo.echo: 5 } }",
    );
    const domain = read();
    const limits = (text: string) => {
      const { admission, toolRules } = operatorLimitsOf(config.write(text).config(), domain);
      const { total, queue, perAgent, perToolOf } = admission;
      return [
        total,
        queue,
        perAgent,
        perToolOf?.("demo.echo"),
        perToolOf?.("constructor"),
        toolRules("other")?.enabled,
      ];
    };
    expect(limits("")).toEqual([6, 9, 4, 5, 1, false]);
    expect(
      limits("limits: { concurrentCalls: 3 }\ntoolLimits: [{ tools: [demo.*], concurrentCalls: 2 }]"),
    ).toEqual([...[3, 9, 4, 2, 1, false]]);
    const without = new ConfigFolder();
    expect(operatorLimitsOf(without.config(), domain).admission.perAgent).toBe(6);
    without.remove();
    const off = new SwitchedOffTools({
      config: config.config(),
      live: { goneTools: new Set(), gateway: { domain } },
    });
    expect([off.has("demo.echo"), off.has("other")]).toEqual([false, true]);
  });

  it("lets everybody run exactly its tools only where no file says who may [AX-RUN-1]", () => {
    const domain = read();
    const without = new ConfigFolder();
    expect(grantsWithoutFile(without.config(), domain)).toMatchObject([{ tools: ["demo.echo"] }]);
    expect(grantsWithoutFile(without.config(), undefined)).toEqual([]);
    without.remove();
    expect(grantsWithoutFile(config.write("").config(), domain)).toEqual([]);
  });

  it("names the version where tools changed under it, and every other reason as it is [AX-PKG-1]", () => {
    const domain = read();
    const changed = failure("E3011", { message: "demo.echo 0.1.0 is registered with other content" });
    expect(domainRefusal([changed], domain).failure).toMatchObject({
      ...{ code: "E3011", message: expect.stringContaining('still "0.1"') },
      ...{ advice: expect.stringContaining("Raise `version`"), issues: [{ path: "E3011" }] },
    });
    const breaks = domainRefusal([failure("E3009", { message: "does not fit" })], domain).failure;
    expect(breaks.advice).toContain("first number of `version`");
    const other = domainRefusal([failure("E3008", { issues: [{ path: "/x", reason: "is wrong" }] })], domain);
    expect(other.failure).toMatchObject({ code: "E3008", issues: [{ path: "E3008" }, { path: "/x" }] });
  });

  it("tells of tools that came or went under the same version, which no client looks for [AX-CAT-1]", () => {
    const before = read().tools.map((manifest) => ({ manifest }));
    expect([unannouncedTools(read(), before), unannouncedTools(read(), [])]).toEqual([[], []]);
    const two = echoTool("http://worker") + echoTool("http://worker", { id: "demo.two" });
    folder.manifest(two);
    expect(unannouncedTools(read(), before)).toEqual(["demo.two"]);
    folder.manifest(echoTool("http://worker", { id: "demo.two" }));
    expect(unannouncedTools(read(), before)).toEqual(["demo.echo", "demo.two"]);
    folder.manifest(two, { version: "0.2" });
    expect(unannouncedTools(read(), before)).toEqual([]);
  });

  it("has the secret of its workers from the environment; no tool sees its file, and no error its text", () => {
    const file = config.write("").path;
    expect(workerSecretOf({})).toBeUndefined();
    expect(workerSecretOf({ WORKER_SECRET: "known-to-both-of-us\n" })).toBe("known-to-both-of-us");
    folder.write("secret", "known-to-both-of-us\n");
    const environment = { WORKER_SECRET_FILE: join(folder.path, "secret") };
    expect(workerSecretOf(environment)).toBe("known-to-both-of-us");
    expect(hiddenPaths(config.config({ environment }))).toContain(
      realpathSync(environment.WORKER_SECRET_FILE),
    );
    for (const text of ["", "too short", "with a space in it"])
      expect(() => workerSecretOf({ WORKER_SECRET: text })).toThrow(
        /^E3301: The variable WORKER_SECRET holds no secret[^"]*$/,
      );
    expect(() => workerSecretOf({ WORKER_SECRET_FILE: `${file}/none` })).toThrow("cannot be read");
  });

  it("is what a configuration with a domain is, checked with DOMAIN_ID [AX-PKG-1]", () => {
    const domain = (environment: Record<string, string>) =>
      configuredDomain(config.write(`domain: ${folder.path}\n`).config({ environment }));
    expect(domain({ DOMAIN_ID: "demo" })).toMatchObject({ id: "demo" });
    expect(() => domain({ DOMAIN_ID: "other" })).toThrow("is wrong in one place");
    expect(config.write(`domain: x\ntools: [./a.ts]\n`).issues()).toMatchObject([
      {
        path: "sallyport.yaml:2:1",
        reason: expect.stringMatching(/^tools cannot be combined with .*--config/),
      },
    ]);
    folder.write("policies.yaml", "x: 1");
    const found = config.write(`domain: ${folder.path}\n`).read();
    if (!found.ok) throw new Error(JSON.stringify(found.issues));
    expect(referenceIssues(found)).toMatchObject([{ path: "policies.yaml:1:1" }]);
    folder.write("policies.yaml", "").manifest(echoTool("http://worker"), { id: "other" });
    expect(domain({ DOMAIN_ID: "other" })).toMatchObject({ id: "other" });
  });
});
