import { describe, expect, it } from "vitest";
import type { Quarantine } from "../ports/tools.ts";
import { calculator } from "./fixtures/manifests.ts";
import { ToolRegistry } from "./registry.ts";

const NOW = Date.UTC(2026, 0, 1);
const SHUT: Quarantine = { at: NOW, reason: "it read /etc/shadow", by: "sallyport", callId: "call-1" };
const implementation = { kind: "inline" as const, operations: { add: () => 3 } };

function registryWith(...versions: string[]): ToolRegistry {
  const registry = new ToolRegistry();
  for (const version of versions) registry.register(calculator(version), { now: NOW, implementation });
  return registry;
}

const resolve = (registry: ToolRegistry, version?: string) =>
  registry.resolve({ tool: "calc", version, now: NOW });

describe("quarantine", () => {
  it("keeps a version from being called, however it is asked for [R3-4] [R2-3]", () => {
    const registry = registryWith("1.0.0", "1.1.0");
    expect(resolve(registry, "^1.0.0")).toMatchObject({ record: { manifest: { version: "1.1.0" } } });
    registry.quarantine("calc", "1.1.0", SHUT);
    for (const version of [undefined, "^1.0.0", ">=1.1.0", "1.1.0", "v1.1.0"])
      expect(resolve(registry, version), version).toMatchObject({
        code: "E3219",
        details: { version: "1.1.0" },
      });
    expect(resolve(registry, "1.0.0")).toMatchObject({ record: { manifest: { version: "1.0.0" } } });
    expect(resolve(registry, "~1.0.0")).not.toHaveProperty("code");
  });

  it("does not tell callers why", () => {
    const registry = registryWith("1.0.0");
    registry.quarantine("calc", "1.0.0", SHUT);
    const text = JSON.stringify(resolve(registry));
    expect(text).toContain("2026-01-01T00:00:00.000Z");
    expect(text).not.toContain("shadow");
    expect(text).not.toContain("call-1");
  });

  it("a quarantined tool is not advertised [R3-4]", () => {
    const registry = registryWith("1.0.0");
    expect(registry.definitions(NOW)).toHaveLength(1);
    registry.quarantine("calc", "1.0.0", SHUT);
    expect(registry.definitions(NOW)).toEqual([]);
    expect(registry.list()).toMatchObject([{ quarantine: SHUT }]);
  });

  it("stays for its first reason, survives a restart and another registration", () => {
    const registry = registryWith("1.0.0");
    const first = registry.quarantine("calc", "1.0.0", SHUT);
    expect(registry.quarantine("calc", "1.0.0", { ...SHUT, reason: "another" })).toBe(first);
    const later = new ToolRegistry();
    later.loadRecords(JSON.parse(JSON.stringify(registry.list())));
    later.register(calculator("1.0.0"), {
      now: NOW,
      implementation,
      onDuplicate: "attach",
      module: "./calc.ts",
    });
    expect(resolve(later)).toMatchObject({ code: "E3219" });
  });

  it("is lifted by a release, which does no harm where there is nothing to lift", () => {
    const registry = registryWith("1.0.0");
    registry.quarantine("calc", "1.0.0", SHUT);
    const released = registry.release("calc", "1.0.0");
    expect(released).not.toHaveProperty("quarantine");
    expect(registry.release("calc", "1.0.0")).toBe(released);
    expect(resolve(registry)).toMatchObject({ implementation });
    expect(registry.definitions(NOW)).toHaveLength(1);
  });

  it("is refused for what does not exist (E3001, E3002)", () => {
    const registry = registryWith("1.0.0");
    expect(registry.quarantine("other", "1.0.0", SHUT)).toMatchObject({ code: "E3001" });
    expect(registry.quarantine("calc", "2.0.0", SHUT)).toMatchObject({ code: "E3002" });
    expect(registry.release("calc", "2.0.0")).toMatchObject({ code: "E3002" });
  });
});
