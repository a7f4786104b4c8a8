import { describe, expect, it } from "vitest";
import { sharedServer } from "./fixtures/shared-server.ts";
import { SOON } from "./fixtures/soon.ts";

const server = sharedServer();

/** The sum of a reading over every line of its name that has these labels. */
async function reading(name: string, labels: Record<string, string> = {}): Promise<number> {
  const { body } = await server().ask({ path: "/metrics" });
  const wanted = Object.entries(labels).map(([label, value]) => `${label}="${value}"`);
  const lines = String(body).matchAll(new RegExp(`^${name}(?:\\{(.*)\\})? (\\S+)`, "gm"));
  const values = [...lines].filter(([, all = ""]) => wanted.every((label) => all.includes(label)));
  return values.reduce((sum, [, , value]) => sum + Number(value), 0);
}

async function buckets(name: string): Promise<string[]> {
  const { body } = await server().ask({ path: "/metrics" });
  const found = String(body).matchAll(new RegExp(`^${name}_bucket\\{.*le="([^"]+)"`, "gm"));
  return [...new Set([...found].map(([, le = ""]) => le))];
}

describe("/metrics", () => {
  it("counts what happened, under the names that dashboards know [R1-8.2]", async () => {
    await server().invoke("echo", {});
    await server().invoke("echo", {});
    await server().invoke("faulty", {}, { body: { operation: "throw" } });
    await server().invoke("locked", {});
    await server().invoke("ledger", { file: 1 });
    await expect
      .poll(() => reading("tool_invocations_total", { tool_id: "echo", status: "success" }), SOON)
      .toBe(2);
    await expect
      .poll(() => reading("tool_invocations_total", { tool_id: "faulty", status: "error" }), SOON)
      .toBe(1);
    await expect.poll(() => reading("tool_failures_total", { code: "E3907" }), SOON).toBe(1);
    await expect.poll(() => reading("capability_denials_total"), SOON).toBe(1);
    await expect
      .poll(() => reading("permission_checks_total", { result: "allowed" }), SOON)
      .toBeGreaterThanOrEqual(3);
    await expect.poll(() => reading("permission_checks_total", { result: "denied" }), SOON).toBe(1);
    await expect
      .poll(() => reading("tool_execution_duration_seconds_count", { tool_id: "echo" }), SOON)
      .toBe(2);
    await expect.poll(() => reading("tool_cpu_seconds_count"), SOON).toBeGreaterThanOrEqual(3);
    await expect.poll(() => reading("tool_memory_peak_bytes_count"), SOON).toBeGreaterThanOrEqual(3);
    await expect.poll(() => reading("tool_io_bytes_count"), SOON).toBeGreaterThanOrEqual(3);
    await expect.poll(() => reading("tool_rollbacks_total"), SOON).toBeGreaterThanOrEqual(1);
    await expect.poll(() => reading("tool_executions_active"), SOON).toBe(0);
  });

  it("has the buckets that were asked for, and finer ones for fast calls [R1-8.2]", async () => {
    await server().invoke("echo", {});
    const fast = ["0.001", "0.005", "0.01", "0.025", "0.05"];
    const execution = [...fast, "0.1", "0.5", "1", "5", "10", "30", "60", "120", "300", "+Inf"];
    expect(await buckets("tool_execution_duration_seconds")).toEqual(execution);
    const permission = ["0.001", "0.005", "0.01", "0.05", "0.1", "0.5", "1", "+Inf"];
    expect(await buckets("permission_check_duration_seconds")).toEqual(permission);
  });

  it("makes no label of what a stranger sends", async () => {
    await server().ask({ path: "/v1/tools/curious-name" });
    await server().ask({ path: "/curious-name" });
    await server().ask({ method: "PROPFIND", path: "/v1/tools" });
    await server().invoke("curious-name", {});
    await server().invoke(
      "echo",
      {},
      { body: { agent_context: { agent_did: "curious-name", tenant_id: "curious-name" } } },
    );
    const { headers, body } = await server().ask({ path: "/metrics" });
    expect(headers["content-type"]).toMatch(/^text\/plain; version=0\.0\.4/);
    expect(body).not.toContain("curious-name");
    await expect
      .poll(() => reading("http_requests_total", { route: "unmatched", status: "404" }), SOON)
      .toBeGreaterThanOrEqual(1);
    await expect.poll(() => reading("http_requests_total", { method: "other" }), SOON).toBe(1);
    await expect
      .poll(() => reading("http_requests_total", { route: "/v1/tools/{tool_id}", status: "404" }), SOON)
      .toBe(1);
  });
});

describe("health", () => {
  it("says that the process answers and that calls can be taken", async () => {
    expect((await server().ask({ path: "/healthz" })).body.status).toBe("ok");
    const { status, body } = await server().ask({ path: "/readyz" });
    expect([status, body.status]).toEqual([200, "ready"]);
    expect(body.checks.map(({ name }: { name: string }) => name)).toEqual(
      expect.arrayContaining(["store", "disk", "engine"]),
    );
  });
});
