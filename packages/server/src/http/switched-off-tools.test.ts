import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { type LoadedConfig, loadConfig } from "../config/load.ts";
import { SwitchedOffTools } from "./switched-off-tools.ts";

const folder = mkdtempSync(join(tmpdir(), "sallyport-off-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

function configWithout(tool: string): LoadedConfig {
  writeFileSync(join(folder, "sallyport.yaml"), `toolLimits: [{ tools: ["${tool}"], enabled: false }]\n`);
  return loadConfig({ cwd: folder });
}

const runtimeWithout = (tool: string, gone: string[] = []) => ({
  config: configWithout(tool),
  live: { goneTools: new Set(gone) },
});

describe("tools that are switched off", () => {
  it("are those that the limits in force say so of, also after a reload [L3-API-2]", () => {
    const runtime = runtimeWithout("su*");
    const off = new SwitchedOffTools(runtime);
    expect([off.has("sum"), off.has("mail")]).toEqual([true, false]);
    runtime.config = configWithout("mail");
    expect([off.has("sum"), off.has("mail")]).toEqual([false, true]);
  });

  it("are those of which a reload has left no version [L3-API-2]", () => {
    const runtime = runtimeWithout("none", ["sum"]);
    const off = new SwitchedOffTools(runtime);
    expect([off.has("sum"), off.has("mail")]).toEqual([true, false]);
    runtime.live.goneTools = new Set(["mail"]);
    expect([off.has("sum"), off.has("mail")]).toEqual([false, true]);
  });
});
