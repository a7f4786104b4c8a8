import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { PolicyVerdict } from "@sallyport/engine/ports";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { reasonToSkip, type StartedService, startService } from "../../../../scripts/services.ts";
import { REQUEST } from "./fixtures/request.ts";
import { createOpaPolicy } from "./opa-policy.ts";

const REGO = `package tool_execution
import rego.v1

default allow := false
allow if input.tool_id == "mail.send"

decision := {"outcome": "deny", "code": "network", "reason": "not to that host", "rule": "hosts"} if {
  some endpoint in input.network_endpoints
  startswith(endpoint, "smtp.example.com:")
} else := {"outcome": "ask", "cache_ttl_seconds": 30} if input.risk == "high" else := {"allow": true}

broken := input.nothing.at.all
wrong := "maybe"
`;

const reason = reasonToSkip("opa");

describe.skipIf(reason)(`a real OPA server [L3-PRM-2]${reason ? ` (${reason})` : ""}`, () => {
  let server: StartedService;
  let folder = "";
  let base = "";

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), "sallyport-opa-"));
    writeFileSync(join(folder, "policy.rego"), REGO);
    server = await startService("opa", { given: folder });
    base = `http://127.0.0.1:${server.port}`;
  });

  afterAll(async () => {
    await server?.[Symbol.asyncDispose]();
    rmSync(folder, { recursive: true });
  });

  const decide = async (path: string, change: Partial<typeof REQUEST> = {}): Promise<PolicyVerdict> =>
    await createOpaPolicy({ endpoint: `${base}/v1/data/${path}`, timeoutMs: 30_000 }).decide({
      ...REQUEST,
      ...change,
    });

  it("allows and denies by a boolean rule", async () => {
    expect(await decide("tool_execution/allow")).toMatchObject({ outcome: "allow" });
    expect(await decide("tool_execution/allow", { tool: "other" })).toMatchObject({
      outcome: "deny",
      code: "E3225",
    });
  });

  it("gives reasons, codes and a time to live by an object rule [L3-PRM-3]", async () => {
    expect(await decide("tool_execution/decision")).toMatchObject({
      outcome: "deny",
      code: "E3204",
      reason: "not to that host",
      rules: ["hosts"],
    });
    const permissions = { filesystem: [], network: [], credentials: [] };
    expect(await decide("tool_execution/decision", { permissions })).toMatchObject({
      outcome: "ask",
      cacheMs: 30_000,
    });
    expect(await decide("tool_execution/decision", { permissions, risk: "low" })).toMatchObject({
      outcome: "allow",
    });
  });

  it("denies where the document is undefined", async () => {
    expect(await decide("tool_execution/broken")).toMatchObject({ outcome: "deny", rules: [] });
    expect(await decide("no/such/package")).toMatchObject({ outcome: "deny", rules: [] });
  });

  it("rejects what is no decision (E3206)", async () => {
    await expect(decide("tool_execution/wrong")).rejects.toThrow(/E3206/);
    const away = createOpaPolicy({ endpoint: `${base}/v1/policies/none` });
    await expect(away.decide(REQUEST)).rejects.toThrow(/E3206/);
  });
});
