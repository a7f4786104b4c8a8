import { completeManifest, type Failure, type ToolManifest } from "@sallyport/protocol";
import { describe, expect, it } from "vitest";
import type { ToolRecord } from "../ports/tools.ts";
import { createSchemaCompiler, lintSchema } from "../validate/index.ts";
import { ADD_INPUT, calculator } from "./fixtures/manifests.ts";
import { manifestHash } from "./manifest.ts";
import type { Registered, RegistryOptions } from "./register.ts";
import { ToolRegistry } from "./registry.ts";
import type { ResolvedTool } from "./resolve.ts";

const DAY = 86_400_000;
const NOW = Date.parse("2026-01-01T00:00:00Z");
const implementation = { kind: "inline" as const, operations: { add: () => 3 } };

function registryWith(versions: string[], options?: RegistryOptions): ToolRegistry {
  const registry = new ToolRegistry(options);
  for (const version of versions) registered(registry.register(calculator(version), { now: NOW }));
  return registry;
}

function registered(answer: Registered | Failure): Registered {
  if ("code" in answer) throw new Error(`${answer.code} ${answer.message}`);
  return answer;
}

function found(answer: ResolvedTool | Failure): ResolvedTool {
  if ("code" in answer) throw new Error(`${answer.code} ${answer.message}`);
  return answer;
}

function code(answer: object): unknown {
  return "code" in answer ? answer.code : undefined;
}

const resolve = (registry: ToolRegistry, version?: string, now = NOW) =>
  registry.resolve({ tool: "calc", version, now });

describe("registering", () => {
  it("answers with the record to store [R1-4.1] [L3-REG-1]", () => {
    const manifest = calculator("1.0.0");
    const answer = registered(new ToolRegistry().register(manifest, { now: NOW, module: "./calc.ts" }));
    expect(answer).toMatchObject({
      added: true,
      retired: [],
      record: { registeredAt: NOW, retirement: {}, module: "./calc.ts" },
    });
    expect(answer.record.manifestHash).toBe(manifestHash(manifest));
  });

  it("keeps its own copy, which nobody can change", () => {
    const manifest = calculator("1.0.0");
    const { record } = registered(new ToolRegistry().register(manifest, { now: NOW }));
    manifest.tags.push("late");
    expect(record.manifest.tags).toEqual([]);
    expect(() => record.manifest.tags.push("x")).toThrow(TypeError);
  });

  it("refuses a duplicate (E3007) [FR-REG-03]", () => {
    expect(code(registryWith(["1.0.0"]).register(calculator("1.0.0"), { now: NOW }))).toBe("E3007");
  });

  it("attaches an implementation to the same content when asked to", () => {
    const registry = registryWith(["1.0.0"]);
    const again = registered(
      registry.register(calculator("1.0.0"), { now: NOW, implementation, onDuplicate: "attach" }),
    );
    expect(again).toMatchObject({ added: false });
    expect(found(resolve(registry)).implementation).toBe(implementation);
  });

  it("resolves to the newest version that is loaded, to one without code only where none is loaded [L3-REG-2]", () => {
    const registry = registryWith(["1.0.0", "1.1.0", "1.2.0"]);
    const load = (version: string) =>
      registry.register(calculator(version), { now: NOW, implementation, onDuplicate: "attach" });
    const version = (range?: string) => found(resolve(registry, range)).manifest.version;
    expect(version()).toBe("1.2.0");
    load("1.1.0");
    expect([version(), version("^1.0.0"), version("1.2.0"), version("~1.0.0")]).toEqual([
      "1.1.0",
      "1.1.0",
      "1.2.0",
      "1.0.0",
    ]);
    load("1.0.0");
    registry.unload("calc", "1.1.0");
    expect([version(), version("^1.0.0")]).toEqual(["1.0.0", "1.0.0"]);
    expect(registry.definitions(NOW)).toMatchObject([{ version: "1.0.0" }]);
  });

  it("refuses other content under the same version (E3011)", () => {
    const other = calculator("1.0.0", { description: "Something else." });
    expect(code(registryWith(["1.0.0"]).register(other, { now: NOW, onDuplicate: "attach" }))).toBe("E3011");
  });

  it("refuses a version that is not SemVer (E3008)", () => {
    expect(code(new ToolRegistry().register(calculator("1.0"), { now: NOW }))).toBe("E3008");
  });

  it("refuses a breaking change within the caret range, against both neighbours (E3009) [L3-REG-2]", () => {
    const stricter = {
      ...ADD_INPUT,
      properties: { ...ADD_INPUT.properties, mode: { type: "string" } },
      required: ["left", "right", "mode"],
    };
    const next = (version: string) =>
      calculator(version, { operations: { add: { description: "Adds.", inputSchema: stricter } } });
    const registry = registryWith(["1.0.0", "1.4.0"]);
    expect(registry.register(next("1.2.0"), { now: NOW })).toMatchObject({
      code: "E3009",
      issues: [
        { path: "/operations/add/inputSchema/required" },
        { path: "/operations/add/outputSchema" },
        { path: "/operations/add/inputSchema/additionalProperties (mode)" },
      ],
    });
    expect(code(registry.register(next("2.0.0"), { now: NOW }))).toBeUndefined();
    expect(code(registry.register(next("1.5.0-beta.1"), { now: NOW }))).toBeUndefined();
  });

  it("says what it thinks of the schemas, and refuses them where quality is demanded (E3012) [R1-6.3]", () => {
    const compiler = createSchemaCompiler();
    const lint = (schema: Parameters<typeof lintSchema>[0]) =>
      lintSchema(schema, (each) => compiler.check(each));
    const sloppy = calculator("1.0.0", {
      operations: { add: { description: "Adds.", inputSchema: { type: "object", properties: { a: {} } } } },
    });
    const lenient = registered(new ToolRegistry({ lint }).register(sloppy, { now: NOW }));
    expect(lenient.warnings.map((warning) => warning.code)).toContain("E3012");
    expect(lenient.warnings.map((warning) => warning.code)).toContain("E3508");
    const refused = new ToolRegistry({ lint, requireQuality: true }).register(sloppy, { now: NOW });
    expect(refused).toMatchObject({ code: "E3012" });
    expect("issues" in refused && refused.issues?.map(({ path }) => path)).toContain(
      "/operations/add/inputSchema/properties/a",
    );
  });

  it("retires the lowest version beyond five and says so [L3-REG-2]", () => {
    const registry = registryWith(["1.0.0", "1.1.0", "2.0.0", "2.1.0", "3.0.0"]);
    const { retired } = registered(registry.register(calculator("3.1.0"), { now: NOW }));
    expect(retired).toMatchObject([
      { manifest: { version: "1.0.0" }, retirement: { removedAt: NOW, replacement: "1.1.0" } },
    ]);
    expect(resolve(registry, "1.0.0")).toMatchObject({ code: "E3004", details: { replacement: "1.1.0" } });
    expect(found(resolve(registry, "^1.0.0")).manifest.version).toBe("1.1.0");
  });
});

describe("resolving", () => {
  it("finds the highest compatible version of a range [L3-REG-2]", () => {
    const registry = registryWith(["1.0.0", "1.2.0", "2.0.0", "3.0.0-rc.1"]);
    expect(
      ["^1.0.0", "~1.0.0", ">=1.1.0", undefined, "1.0.0", "^3.0.0-rc.0", "v1.2.0"].map(
        (range) => found(resolve(registry, range)).manifest.version,
      ),
    ).toEqual(["1.2.0", "1.0.0", "2.0.0", "2.0.0", "1.0.0", "3.0.0-rc.1", "1.2.0"]);
  });

  it("gives what a call needs, the operation's word over the tool's [FR-REG-01]", () => {
    const manifest = calculator("1.0.0", {
      requiredCapabilities: ["math"],
      operations: {
        add: { description: "Adds.", inputSchema: ADD_INPUT },
        store: {
          description: "Stores.",
          inputSchema: ADD_INPUT,
          sideEffects: "state",
          requiredCapabilities: ["memory"],
          timeoutMs: 50,
        },
      },
    });
    const registry = new ToolRegistry();
    registered(registry.register(manifest, { now: NOW, implementation }));
    const add = found(registry.resolve({ tool: "calc", operation: "add", now: NOW }));
    const store = found(registry.resolve({ tool: "calc", operation: "store", now: NOW }));
    expect(add).toMatchObject({
      operationName: "add",
      traits: { sideEffects: "none", risk: "low", requiredCapabilities: ["math"] },
      limits: { timeoutMs: 30_000 },
    });
    expect(store).toMatchObject({
      traits: { sideEffects: "state", risk: "medium", requiredCapabilities: ["memory"] },
      limits: { timeoutMs: 50 },
    });
    expect(
      Object.isFrozen(store.traits) &&
        store.traits === found(registry.resolve({ tool: "calc", operation: "store", now: NOW })).traits,
    ).toBe(true);
  });

  it("explains each refusal [L3-REG-1] [MCX-1]", () => {
    const registry = registryWith(["1.0.0", "1.1.0"]);
    registered(
      registry.register(
        calculator("1.0.0", {
          id: "calendar",
          operations: {
            a: { description: "A.", inputSchema: {} },
            b: { description: "B.", inputSchema: {} },
          },
        }),
        { now: NOW },
      ),
    );
    const refusal = (request: { tool: string; version?: string; operation?: string }) =>
      registry.resolve({ ...request, now: NOW });
    expect(refusal({ tool: "calk" })).toMatchObject({ code: "E3001", details: { nearest: ["calc"] } });
    expect(refusal({ tool: "constructor" })).toMatchObject({ code: "E3001" });
    expect(refusal({ tool: "calc", version: "1.0.5" })).toMatchObject({
      code: "E3002",
      details: { versions: ["1.0.0", "1.1.0"] },
    });
    expect(refusal({ tool: "calc", version: "^2.0.0" })).toMatchObject({
      code: "E3006",
      details: { versions: ["1.0.0", "1.1.0"] },
    });
    expect(refusal({ tool: "calc", version: "latest please" })).toMatchObject({
      code: "E3006",
      message: expect.stringContaining("neither"),
    });
    expect(refusal({ tool: "calc", operation: "toString" })).toMatchObject({
      code: "E3010",
      details: { operations: ["add"] },
    });
    expect(refusal({ tool: "calendar" })).toMatchObject({
      code: "E3010",
      details: { operations: ["a", "b"] },
    });
  });

  it.each(["inactive", "error", "maintenance", "pending"] as const)(
    "refuses a tool that is %s (E3014) [MCXP-1]",
    (status) => {
      const registry = new ToolRegistry();
      registered(registry.register(calculator("1.0.0", { status }), { now: NOW }));
      expect(resolve(registry)).toMatchObject({ code: "E3014", details: { status } });
      expect(registry.definitions(NOW)).toEqual([]);
    },
  );
});

describe("a version's way out [L3-REG-2] [R1-10]", () => {
  it("warns with date, days left and replacement, then is avoided, then used only if nothing else fits", () => {
    const registry = registryWith(["1.0.0", "1.1.0"]);
    registry.deprecate("calc", "1.1.0", {
      now: NOW,
      replacement: "1.0.0",
      guidance: "Nothing else changes.",
    });
    expect(found(resolve(registry, "^1.0.0", NOW + DAY)).warnings).toEqual([
      {
        code: "E3003",
        message:
          "calc 1.1.0 is deprecated; its sunset date is 2026-04-01, 89 days from now. Move to 1.0.0. Nothing else changes.",
      },
    ]);
    expect(found(resolve(registry, "^1.0.0", NOW + 90 * DAY)).manifest.version).toBe("1.0.0");
    const fallback = found(resolve(registry, "~1.1.0", NOW + 90 * DAY));
    expect(fallback.warnings[0]?.message).toContain("passed its sunset date 2026-04-01");
    expect(found(resolve(registry, "^1.0.0", NOW)).manifest.version).toBe("1.1.0");
  });

  it("is refused without guidance or for a version that is not there", () => {
    const registry = registryWith(["1.0.0"]);
    expect(code(registry.deprecate("calc", "1.0.0", { now: NOW }))).toBe("E3013");
    expect(code(registry.deprecate("calc", "9.0.0", { now: NOW, guidance: "x" }))).toBe("E3002");
    expect(code(registry.deprecate("none", "1.0.0", { now: NOW, guidance: "x" }))).toBe("E3001");
    expect(code(registry.deprecate("calc", "1.0.0", { now: NOW, guidance: "x" }))).toBeUndefined();
    expect(code(registry.deprecate("calc", "1.0.0", { now: NOW, guidance: "x" }))).toBe("E3013");
  });

  it("ends with a removal only when it may, unless forced", () => {
    const registry = registryWith(["1.0.0"]);
    expect(registry.remove("calc", "1.0.0", { now: NOW })).toMatchObject({
      code: "E3013",
      details: { blockers: ["it has not been deprecated"] },
    });
    registry.deprecate("calc", "1.0.0", { now: NOW, replacement: "2.0.0" });
    for (const version of ["1.1.0", "2.0.0"])
      registered(registry.register(calculator(version), { now: NOW }));
    expect(code(registry.remove("calc", "1.0.0", { now: NOW + 89 * DAY }))).toBe("E3013");
    expect(registry.remove("calc", "1.0.0", { now: NOW + 90 * DAY })).toMatchObject({
      retirement: { removedAt: NOW + 90 * DAY },
    });
    expect(resolve(registry, "1.0.0", NOW + 90 * DAY)).toMatchObject({
      code: "E3004",
      details: { replacement: "2.0.0" },
    });
    expect(code(registry.remove("calc", "1.1.0", { now: NOW, force: true }))).toBeUndefined();
    expect(code(registry.remove("calc", "1.1.0", { now: NOW, force: true }))).toBe("E3004");
    expect(code(resolve(registry, "^1.0.0", NOW + 90 * DAY))).toBe("E3004");
  });
});

describe("advertising and listing", () => {
  it("sorts by name and shows only what can be called [FR-REG-03]", () => {
    const registry = registryWith(["1.0.0", "2.0.0"]);
    registered(registry.register(calculator("1.0.0", { id: "z", name: "Abacus" }), { now: NOW }));
    registered(registry.register(calculator("1.0.0", { id: "b", name: "Calculator" }), { now: NOW }));
    registered(registry.register(calculator("1.0.0-rc.1", { id: "pre", name: "Before" }), { now: NOW }));
    expect(registry.definitions(NOW).map(({ name, id, version }) => `${name} ${id} ${version}`)).toEqual([
      "Abacus z 1.0.0",
      "Calculator b 1.0.0",
      "Calculator calc 2.0.0",
    ]);
    expect(registry.list().map(({ manifest }) => `${manifest.id} ${manifest.version}`)).toEqual([
      "b 1.0.0",
      "calc 1.0.0",
      "calc 2.0.0",
      "pre 1.0.0-rc.1",
      "z 1.0.0",
    ]);
  });
});

describe("starting with a full store [NFR-PERF-01]", () => {
  const records: ToolRecord[] = Array.from({ length: 10_000 }, (_, index) => {
    const manifest: ToolManifest = completeManifest({
      id: `tool.${index}`,
      version: "1.0.0",
      name: `Tool ${index}`,
      description: "Does.",
      operations: { run: { description: "Runs.", inputSchema: structuredClone(ADD_INPUT) } },
    });
    return { manifest, manifestHash: "0".repeat(64), registeredAt: 0, retirement: {}, revision: 1 };
  });

  it("takes ten thousand tools in a moment and finds each at once", () => {
    const registry = new ToolRegistry();
    const start = performance.now();
    expect(registry.loadRecords(records)).toEqual([]);
    expect(registry.list()).toHaveLength(10_000);
    expect(performance.now() - start).toBeLessThan(15_000);
    const lookups = performance.now();
    for (let index = 0; index < 10_000; index += 1)
      found(registry.resolve({ tool: `tool.${index}`, version: "^1.0.0", now: NOW }));
    expect(performance.now() - lookups).toBeLessThan(15_000);
    const missing = performance.now();
    expect(code(registry.resolve({ tool: "tool.99999", now: NOW }))).toBe("E3001");
    expect(performance.now() - missing).toBeLessThan(5_000);
  });

  it("leaves out a record that is not one (E3008)", () => {
    const [first] = records;
    const bad = { ...first, manifest: { ...first?.manifest, version: "one" } } as ToolRecord;
    const registry = new ToolRegistry();
    expect(registry.loadRecords([bad])).toMatchObject([{ code: "E3008" }]);
    expect(registry.list()).toEqual([]);
  });

  it("remembers removal across a restart", () => {
    const first = registryWith(["1.0.0", "2.0.0"]);
    first.remove("calc", "2.0.0", { now: NOW, force: true });
    const second = new ToolRegistry();
    second.loadRecords(structuredClone(first.list()));
    expect(found(resolve(second, undefined, NOW)).manifest.version).toBe("1.0.0");
  });
});
