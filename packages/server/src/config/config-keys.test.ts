import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { configJsonSchema, renderConfigDoc } from "./config-doc.ts";
import { configKeys, RELOADED_KEYS } from "./config-keys.ts";

const keys = configKeys();
const key = (name: string) => keys.find((found) => found.key === name);

describe("the keys of the configuration", () => {
  it("all say what they mean", () => {
    expect(keys.filter(({ description }) => description === "").map(({ key: name }) => name)).toEqual([]);
  });

  it("are found inside of lists, choices and named parts too", () => {
    expect(key("http.port")).toMatchObject({
      default: 7420,
      variable: "SALLYPORT__HTTP__PORT",
      reloaded: false,
    });
    expect(key("toolLimits[].timeoutMs")).toMatchObject({ variable: undefined, reloaded: true });
    expect(key("tools[].runner")).toMatchObject({ default: "thread", reloaded: true });
    expect(key("credentials.<name>.secret.env")).toMatchObject({ variable: undefined, reloaded: false });
    expect(key("limits.threads")?.reloaded).toBe(false);
  });

  it("are those that a reload is said to apply", () => {
    for (const name of RELOADED_KEYS) expect(key(name), name).toBeDefined();
  });

  it("stand in the document and in the schema for editors", () => {
    const document = renderConfigDoc();
    for (const { key: name } of keys) expect(document).toContain(`\`${name}\``);
    expect(document).toContain("| `http.port` | integer | `7420` |");
    expect(document).toContain("| `log.level` ↻ |");
    const published = new URL("../../../../docs/sallyport.schema.json", import.meta.url);
    expect(JSON.parse(readFileSync(published, "utf8"))).toEqual(configJsonSchema());
  });
});
