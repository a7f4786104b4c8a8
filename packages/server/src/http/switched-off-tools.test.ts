import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { type LoadedConfig, loadConfig } from "../config/load.ts";
import type { ReloadReport } from "../reload/reload-house.ts";
import { opening } from "./routes/fixtures/opening.ts";
import { SwitchedOffTools } from "./switched-off-tools.ts";

const open = opening();

const NO_CHANGES = { added: [], changed: [], gone: [] };

const folder = mkdtempSync(join(tmpdir(), "sallyport-off-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

function configWithout(tool: string): LoadedConfig {
  writeFileSync(join(folder, "sallyport.yaml"), `toolLimits: [{ tools: ["${tool}"], enabled: false }]\n`);
  return loadConfig({ cwd: folder });
}

async function houseWithout(tool: string) {
  const { engine } = await open([
    { id: "sum" },
    { id: "mail", version: "1.0.0" },
    { id: "mail", version: "1.1.0" },
    { id: "codeless", codeless: true },
  ]);
  return { engine, config: configWithout(tool) };
}

const reloaded = (gone: string[]): ReloadReport => ({
  ok: true,
  file: undefined,
  applied: [],
  needsRestart: [],
  tools: { ...NO_CHANGES, gone },
});

describe("tools that are switched off", () => {
  it("are those that the limits in force say so of, also after a reload [L3-API-2]", async () => {
    const house = await houseWithout("su*");
    const off = new SwitchedOffTools(house);
    expect([off.has("sum"), off.has("mail")]).toEqual([true, false]);
    house.config = configWithout("mail");
    expect([off.has("sum"), off.has("mail")]).toEqual([false, true]);
  });

  it("are those of which a reload has left no version [L3-API-2]", async () => {
    const off = new SwitchedOffTools(await houseWithout("none"));
    off.note(reloaded(["sum@1.0.0", "mail@1.0.0"]));
    expect([off.has("sum"), off.has("mail"), off.has("codeless")]).toEqual([true, false, false]);
    off.note(reloaded(["mail@1.0.0", "mail@1.1.0"]));
    expect([off.has("sum"), off.has("mail")]).toEqual([false, true]);
  });
});
