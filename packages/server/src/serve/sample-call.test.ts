import {
  ConfiguredAuthority,
  createEngine,
  createMemoryStore,
  defineTool,
  type Engine,
} from "@sallyport/engine";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { sampleCall } from "./sample-call.ts";
import { curlLine } from "./start-report.ts";

const $schema = "https://json-schema.org/draft/2020-12/schema";
const ANY = { $schema, type: "object" };
const NAMED = { ...ANY, properties: { name: { type: "string", examples: ["O'Hara"] } }, required: ["name"] };
const caller = { tenant: "local", agent: "http" };
const OPEN = { http: { callers: "open" as const } };

function tool(
  id: string,
  { sideEffects = "none", input = NAMED }: { sideEffects?: "none" | "external"; input?: object },
) {
  const description = "A tool.";
  return defineTool({ id, version: "1.0.0", description, sideEffects, input: { ...input }, run: () => null });
}

function grantFor(...tools: string[]) {
  const everybody = { tenants: ["*"], agents: ["*"], operations: ["*"], capabilities: [] };
  return new ConfiguredAuthority({ grants: [{ id: "g", tools, ...everybody }] });
}

let engine: Engine;
beforeEach(async () => {
  engine = await createEngine({ store: createMemoryStore() });
});
afterEach(() => engine.close());

async function sample(authority: ConfiguredAuthority, http: { callers: "open" | "token" } = OPEN.http) {
  return await sampleCall({ engine, authority, config: { http }, caller, isSwitchedOff: () => false });
}

describe("a call to paste", () => {
  it("is of a tool that is loaded, harmless and granted", async () => {
    await engine.tools.add(tool("a-writer", { sideEffects: "external" }));
    await engine.tools.add(tool("reader", {}));
    await engine.tools.register(tool("absent", {}).manifest);
    expect(await sample(grantFor("*"))).toEqual({ tool: "reader", input: { name: "O'Hara" } });
    expect(await sample(grantFor("a-writer"))).toMatchObject({ tool: "a-writer" });
    expect(await sample(grantFor("absent"))).toBeUndefined();
    expect(await sample(grantFor())).toBeUndefined();
  });

  it("is not of a tool whose input cannot be made up, or that somebody has to be asked about", async () => {
    await engine.tools.add(tool("odd", { input: { ...ANY, properties: { x: {} }, required: ["x"] } }));
    await engine.tools.add(tool("asked", {}));
    const asking = new ConfiguredAuthority({
      grants: [{ id: "g", tenants: ["*"], agents: ["*"], tools: ["*"], operations: ["*"], capabilities: [] }],
      policies: [
        {
          name: "p",
          decide: () => ({ outcome: "ask", reason: "so", rules: [], policyVersion: "1", tier: "operator" }),
        },
      ],
    });
    expect(await sample(asking)).toBeUndefined();
    expect(await sample(asking, { callers: "token" })).toMatchObject({ tool: "asked" });
  });

  it("is not of a tool that is switched off", async () => {
    await engine.tools.add(tool("reader", {}));
    await engine.tools.add(tool("writer", {}));
    const isSwitchedOff = (id: string) => id === "reader";
    const asked = { engine, authority: grantFor("*"), config: OPEN, caller };
    expect(await sampleCall({ ...asked, isSwitchedOff })).toMatchObject({ tool: "writer" });
  });

  it("names the operation where there is more than one, and is safe in a shell", async () => {
    const one = { description: "One.", input: NAMED, run: () => null };
    await engine.tools.add(
      defineTool({
        id: "two",
        version: "1.0.0",
        description: "Two.",
        sideEffects: "none",
        operations: { a: one, b: one },
      }),
    );
    const found = await sample(grantFor("*"));
    expect(found).toEqual({ tool: "two", operation: "a", input: { name: "O'Hara" } });
    const url = "http://127.0.0.1:7420";
    expect(found && curlLine(found, { url, callers: "open" })).toBe(
      `curl -s ${url}/v1/tools/invoke -H 'content-type: application/json' -d '{"tool_id":"two","operation":"a","parameters":{"name":"O'\\''Hara"}}'`,
    );
    expect(found && curlLine(found, { url, callers: "token" })).toContain(
      '-H "authorization: Bearer $TOKEN"',
    );
  });
});
