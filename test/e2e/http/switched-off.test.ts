import { readFileSync, writeFileSync } from "node:fs";
import { expect, it } from "vitest";
import { TestServer } from "./fixtures/server.ts";
import { SOON } from "./fixtures/soon.ts";

async function listed(server: TestServer): Promise<string[]> {
  const { body } = await server.ask({ path: "/v1/tools" });
  return body.tools.map(({ tool_id }: { tool_id: string }) => tool_id);
}

it("a tool that a reload has taken away is listed no more, until a reload brings it back [L3-API-2]", async () => {
  await using server = await TestServer.open();
  const file = server.path("sallyport.yaml");
  const before = readFileSync(file, "utf8");
  expect(await listed(server)).toContain("echo");
  writeFileSync(file, before.replace(/^tools: .*$/m, "tools: []"));
  expect((await server.operator({ method: "POST", path: "/v1/config:reload" })).status).toBe(200);
  expect(await listed(server)).toEqual([]);
  expect((await server.ask({ path: "/v1/tools/echo" })).body.current.status).toBe("inactive");
  expect((await server.invoke("echo", {})).body.error.details.code).toBe("E3014");
  writeFileSync(file, before);
  process.kill(server.child.pid, "SIGHUP");
  await expect.poll(() => listed(server), SOON).toContain("echo");
  expect((await server.invoke("echo", {})).status).toBe(200);
});
