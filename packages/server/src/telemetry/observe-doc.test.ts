import { readFileSync } from "node:fs";
import { afterAll, describe, expect, it } from "vitest";
import { parse } from "yaml";
import { afterFirstLook } from "./fixtures/first-look.ts";
import { observedEngine } from "./fixtures/observed-engine.ts";
import { createHttpMetrics, openTelemetry, watchArchive, watchSinks, watchWorkers } from "./index.ts";

const page = readFileSync(new URL("../../../../docs/operate/observe.md", import.meta.url), "utf8");

interface Alerts {
  groups: { rules: { alert: string; expr: string; for: string }[] }[];
}

describe("the page on observing", async () => {
  const telemetry = openTelemetry({}, { instance: "one", version: "1.2.3" });
  const { call, engine } = await observedEngine(telemetry);
  afterAll(async () => {
    await engine.close();
    await telemetry.close();
  });
  createHttpMetrics(telemetry.meter).answered({ method: "GET", route: "/metrics", status: 200, seconds: 0 });
  watchSinks(telemetry.meter, async () => [{ sink: "kafka", batches: 3, oldestAt: 5, problem: "down" }]);
  const waiting = [{ month: "2026-07", problem: "E3804" }];
  watchArchive(telemetry.meter, async () => ({ waiting, last: { month: "2026-08" } }));
  watchWorkers(telemetry.meter, () => [{ baseUrl: "http://worker:8080", state: "up" }]);
  for (const tool of ["echo", "works", "breaks", "denied", "differs", "differs"]) await call(tool);
  engine.flush();
  const text = await afterFirstLook(telemetry);
  const kinds = new Map([...text.matchAll(/^# TYPE (\S+) (\S+)$/gm)].map(([, name, kind]) => [name, kind]));

  it("lists every metric there is, of its kind, and no other [R1-8.2] [L3P2-5]", () => {
    const rows = [...page.matchAll(/^\| `(\w+)` \| (counter|gauge|histogram) \|/gm)];
    expect(Object.fromEntries(rows.map(([, name, kind]) => [name, kind]))).toEqual(Object.fromEntries(kinds));
  });

  it("has the labels of each", () => {
    for (const [, name, , labels = ""] of page.matchAll(
      /^\| `((?:tool|permission|http|events|worker|audit)_\w+)` \| (\w+) \| ([\w, ]*) ?\|/gm,
    )) {
      const line = text
        .split("\n")
        .find((each) => each.startsWith(`${name}{`) || each.startsWith(`${name}_count`));
      const shown = [...(line ?? "").matchAll(/(\w+)="/g)].map(([, label]) => label);
      const listed = labels.split(",").flatMap((label) => label.trim() || []);
      expect(shown.sort(), name).toEqual(listed.sort());
    }
  });

  it("alerts on metrics that there are [L3P2-5]", () => {
    const [block] = page.match(/groups:\n[\s\S]*?(?=```)/) ?? [];
    const { groups }: Alerts = parse(block ?? "");
    const rules = groups.flatMap((group) => group.rules);
    expect(rules.map(({ alert }) => alert)).toEqual(
      expect.arrayContaining(["ToolFailureRate", "ToolCapacity", "PermissionCheckSlow"]),
    );
    for (const { expr } of rules) {
      const names = [...expr.matchAll(/\b(?:tool|permission|http)_\w+/g)].map(([name]) =>
        name.replace(/_bucket$/, ""),
      );
      expect(names.filter((name) => !kinds.has(name))).toEqual([]);
      expect(names.length).toBeGreaterThan(0);
    }
  });
});
