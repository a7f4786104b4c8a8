import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { configKeys } from "../config/config-keys.ts";
import { ConfigFolder } from "../config/fixtures/config-folder.ts";
import { valueAt } from "../config/overrides.ts";
import { changedKeys, inForce } from "./changed-keys.ts";

let folder: ConfigFolder;
beforeEach(() => {
  folder = new ConfigFolder();
});
afterEach(() => folder.remove());

const OTHER = `
state: elsewhere
tools: [a.ts]
grants: [{ id: a, tools: [b] }]
agents: [{ agents: [a] }]
tokens: { required: true }
policy: { files: [a.yaml], cacheSeconds: 1, opa: {} }
approvals: { quorum: 2 }
workspace: work
sandbox: { ociRuntime: runc }
effects: { undoDays: 1 }
credentials: { a: { host: h, secret: { env: X } } }
caller: { tenant: other }
events: false
limits: { concurrentCalls: 1, concurrentCallsPerAgent: 1, concurrentCallsPerTool: 1, queueWaitSeconds: 1, queuedCalls: 1, threads: 1, inputBytes: 1 }
toolLimits: [{ tools: [a], enabled: false }]
http: { port: 1 }
webhooks: { attempts: 1 }
log: { level: warn, format: json }
`;

describe("what differs between two configurations", () => {
  it("is told apart into what a reload applies and what it cannot", () => {
    const before = folder.config();
    const after = folder.write(OTHER).config();
    const { applied, needsRestart } = changedKeys(before, after);
    for (const { key, reloaded } of configKeys().filter((found) => found.path)) {
      expect(reloaded ? needsRestart : applied, key).not.toContain(key);
    }
    expect(applied).toEqual(
      expect.arrayContaining(["tools", "policy.files", "policy.opa.timeoutMs", "log.level"]),
    );
    expect(needsRestart).toEqual(expect.arrayContaining(["state", "credentials", "http.port", "log.format"]));
    expect(changedKeys(after, after)).toEqual({ applied: [], needsRestart: [] });
  });

  it("comes into force exactly as far as that is said", () => {
    const before = folder.config();
    const after = folder.write(OTHER).config();
    const merged = inForce(before, after);
    for (const { key, path, reloaded } of configKeys()) {
      const whole = !path || ["limits", "log"].includes(key);
      if (!whole) expect(valueAt(merged, path), key).toEqual(valueAt(reloaded ? after : before, path));
    }
    expect(merged.place).toBe(before.place);
    expect(Object.isFrozen(merged)).toBe(true);
  });

  it("names a state folder that moved although no key says so", () => {
    const before = folder.config();
    const after = folder.config({ stateDir: "/elsewhere" });
    expect(changedKeys(before, after)).toEqual({ applied: [], needsRestart: ["state"] });
  });
});
