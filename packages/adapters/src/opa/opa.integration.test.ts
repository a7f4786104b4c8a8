import { type ChildProcess, spawn } from "node:child_process";
import { accessSync, constants, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import type { PolicyVerdict } from "@sallyport/engine";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
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

/** The OPA to test with: named by SALLYPORT_OPA, which then has to be one, or found on the PATH. */
function findOpa(): string | undefined {
  if (process.env.SALLYPORT_OPA) return process.env.SALLYPORT_OPA;
  const folders = (process.env.PATH ?? "").split(delimiter);
  return folders.map((folder) => join(folder, "opa")).find(isExecutable);
}

function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

const opa = findOpa();
if (opa === undefined)
  console.warn("skipped: no OPA to test with (set SALLYPORT_OPA, or put opa on the PATH)");

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  await new Promise<void>((resolve) => void server.close(() => resolve()));
  return typeof address === "object" && address !== null ? address.port : 0;
}

async function untilHealthy(base: string): Promise<void> {
  const deadline = performance.now() + 60_000;
  while (performance.now() < deadline) {
    const healthy = await fetch(`${base}/health`).then(
      ({ ok }) => ok,
      () => false,
    );
    if (healthy) return;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  throw new Error("OPA did not come up");
}

describe.skipIf(opa === undefined)("a real OPA server [L3-PRM-2]", () => {
  let server: ChildProcess;
  let folder = "";
  let base = "";

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), "sallyport-opa-"));
    writeFileSync(join(folder, "policy.rego"), REGO);
    const address = `127.0.0.1:${await freePort()}`;
    base = `http://${address}`;
    const options = ["--addr", address, "--log-level", "error", "--disable-telemetry"];
    server = spawn(opa ?? "", ["run", "--server", ...options, join(folder, "policy.rego")], {
      stdio: "ignore",
    });
    await untilHealthy(base);
  }, 120_000);

  afterAll(async () => {
    const gone = new Promise((resolve) => server.once("exit", resolve));
    server.kill();
    await gone;
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
