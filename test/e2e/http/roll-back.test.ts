import { writeFileSync } from "node:fs";
import { expect, it } from "vitest";
import { TestServer } from "./fixtures/server.ts";

const ENGINE_TOOL = import.meta.resolve("@sallyport/engine/tool");

const toolModule = (version: string) => `import { defineTool } from ${JSON.stringify(ENGINE_TOOL)};
const $schema = "https://json-schema.org/draft/2020-12/schema";
export const tool = defineTool({
  id: "teller", version: "${version}", description: "Tells.", sideEffects: "none",
  input: { $schema, type: "object" }, output: { $schema, type: "string" }, run: () => "${version}",
});
`;

it("a tool that is rolled back runs its former version, with a server and after it [L3-REG-2]", async () => {
  const server = new TestServer();
  const write = (version: string, file = "teller.mts") => {
    const config = `tools: [./${file}]\ngrants: [{ id: all, tools: [teller] }]\n`;
    writeFileSync(server.path("sallyport.yaml"), config);
    writeFileSync(server.path(file), toolModule(version));
  };
  write("1.0.0");
  await using open = await server.start();
  const answers: unknown[] = [];
  const call = async () => answers.push((await open.invoke("teller", {})).body.result);
  await call();
  for (const version of ["1.1.0", "1.0.0"]) {
    write(version);
    expect((await open.operator({ method: "POST", path: "/v1/config:reload" })).status).toBe(200);
    await call();
    await call();
  }
  expect(answers).toEqual(["1.0.0", "1.1.0", "1.1.0", "1.0.0", "1.0.0"]);
  await open.child.stop("SIGTERM");
  const command = async () => JSON.parse(await open.command("call", "teller", "--json")).result;
  const later = [];
  for (const version of ["1.0.0", "1.1.0", "1.0.0"]) {
    // Commands of this test share a process, and a process imports a file once.
    write(version, `teller-${version}.mts`);
    later.push(await command());
  }
  expect(later).toEqual(["1.0.0", "1.1.0", "1.0.0"]);
});
