import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { loadConfig } from "../config/load.ts";
import { secretVariables } from "./chat-tools.ts";

const CONFIG = `
models:
  providers:
    lab:
      kind: openai-compatible
      baseUrl: http://127.0.0.1:9/v1
      apiKey: { env: LAB_CRED }
      headers: { x-gate: { env: GATE }, x-plain: words }
webhooks:
  secret: { env: HOOKS }
credentials:
  tracker: { secret: { env: TRACKER }, host: tracker.example }
  other: { secret: { file: ./key }, host: other.example }
`;

describe("variables that are Sallyport's alone", () => {
  it("are all those the configuration says a secret is in [FR-EXE-06] [CFG-ENV-01]", () => {
    const folder = mkdtempSync(join(tmpdir(), "sallyport-secret-variables-"));
    try {
      writeFileSync(join(folder, "sallyport.yaml"), CONFIG);
      const config = loadConfig({ cwd: folder, environment: { TZ: "UTC" } });
      expect(secretVariables(config).toSorted()).toEqual([
        "GATE",
        "HOOKS",
        "LAB_CRED",
        "SALLYPORT__*",
        "TRACKER",
      ]);
    } finally {
      rmSync(folder, { recursive: true });
    }
  });
});
