import { readFileSync, writeFileSync } from "node:fs";
import { expect, it } from "vitest";
import { House } from "./fixtures/house.ts";
import { SOON } from "./fixtures/soon.ts";

async function listed(house: House): Promise<string[]> {
  const { body } = await house.ask({ path: "/v1/tools" });
  return body.tools.map(({ tool_id }: { tool_id: string }) => tool_id);
}

it("a tool that a reload has taken away is listed no more, until a reload brings it back [L3-API-2]", async () => {
  await using house = await House.open();
  const file = house.path("sallyport.yaml");
  const before = readFileSync(file, "utf8");
  expect(await listed(house)).toContain("echo");
  writeFileSync(file, before.replace(/^tools: .*$/m, "tools: []"));
  expect((await house.operator({ method: "POST", path: "/v1/config:reload" })).status).toBe(200);
  expect(await listed(house)).toEqual([]);
  expect((await house.ask({ path: "/v1/tools/echo" })).body.current.status).toBe("inactive");
  expect((await house.invoke("echo", {})).body.error.details.code).toBe("E3014");
  writeFileSync(file, before);
  process.kill(house.server.pid, "SIGHUP");
  await expect.poll(() => listed(house), SOON).toContain("echo");
  expect((await house.invoke("echo", {})).status).toBe(200);
});
