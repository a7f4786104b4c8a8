import type { OperationManifest, ToolManifest } from "@sallyport/protocol";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { LoopTool } from "./tools.ts";
import { definitionsOf, loopToolsOf, offeredTools } from "./tools.ts";

const OBJECT = { type: "object", properties: { path: { type: "string" } } };

function manifest(
  id: string,
  operations: Record<string, Partial<OperationManifest>> = { run: {} },
): ToolManifest {
  const filled = Object.entries(operations).map(([name, operation]) => [
    name,
    { description: `${name} of ${id}`, inputSchema: OBJECT, ...operation },
  ]);
  return {
    id,
    version: "1.2.3",
    name: id,
    description: `The tool ${id}`,
    category: "computation",
    tags: [],
    source: { type: "native" },
    status: "active",
    securityLevel: 0,
    operations: Object.fromEntries(filled),
    permissions: { filesystem: [], network: [], credentials: [] },
    limits: { timeoutMs: 1, memoryBytes: 1 },
    kind: "function",
    requiredCapabilities: [],
    sideEffects: "none",
    deterministic: true,
    idempotent: true,
    requiresApproval: false,
    risk: "low",
  };
}

const grantIndex = (...manifests: ToolManifest[]) => ({ definitions: () => manifests });
const namesOf = (...manifests: ToolManifest[]) =>
  loopToolsOf(grantIndex(...manifests)).map(({ name }) => name);
const face: LoopTool = {
  name: "read_file",
  description: "Reads",
  inputSchema: OBJECT,
  sideEffects: false,
  tool: "sp.read",
};

describe("the registered tools as tools of the loop", () => {
  it("have names by id, and by operation where there are several, sorted [FR-REG-03] [NFR-MAIN-03]", () => {
    const files = manifest("files", { read: {}, write: { sideEffects: "state" } });
    expect(namesOf(manifest("z"), files, manifest("db.query"))).toEqual([
      "db_query",
      "files__read",
      "files__write",
      "z",
    ]);
    expect(loopToolsOf(grantIndex(files))[1]).toEqual({
      timeout: "own",
      name: "files__write",
      description: "write of files",
      inputSchema: OBJECT,
      sideEffects: true,
      tool: "files",
      version: "1.2.3",
      operation: "write",
    });
  });

  it("have unique names that providers take, whatever their ids and order [FR-REG-03] [NFR-MAIN-03]", () => {
    const id = fc.oneof(
      fc.constantFrom(..."a.b a_b a:b mcp:x:y 1st -x a read_file é a__run".split(" ")),
      fc.constantFrom("x".repeat(90), `${"x".repeat(89)}y`),
      fc.string({ minLength: 1, maxLength: 80 }),
    );
    const tools = fc
      .uniqueArray(id, { maxLength: 12 })
      .map((ids) => ids.map((one) => manifest(one, { run: {}, go: {} })));
    fc.assert(
      fc.property(tools, fc.boolean(), (manifests, hasFace) => {
        const options = hasFace ? { customTools: [face] } : {};
        const offered = loopToolsOf(grantIndex(...manifests), options);
        const names = offered.map(({ name }) => name);
        expect(new Set(names).size).toBe(manifests.length * 2);
        for (const name of names) expect(name).toMatch(/^[A-Za-z_][A-Za-z0-9_-]{0,63}$/);
        expect(loopToolsOf(grantIndex(...manifests.toReversed()), options)).toEqual(offered);
      }),
    );
  });

  it("keep their own name against one that is only made to look like it [FR-REG-03]", () => {
    const tools = loopToolsOf(grantIndex(manifest("a.b"), manifest("a_b"), manifest("a:b")));
    expect(tools.find(({ tool }) => tool === "a_b")?.name).toBe("a_b");
    expect(tools.filter(({ name }) => /^a_b_[0-9a-f]{8}$/.test(name))).toHaveLength(2);
  });

  it("stay unique although a tool is called what another would be renamed to [FR-REG-03]", () => {
    const rivals = [manifest("a.b"), manifest("a_b")];
    const [renamed = ""] = namesOf(...rivals).filter((name) => name !== "a_b");
    const tools = loopToolsOf(grantIndex(...rivals, manifest(renamed)));
    expect(tools.find(({ tool }) => tool === renamed)?.name).toBe(renamed);
    expect(new Set(tools.map(({ name }) => name)).size).toBe(3);
  });

  it("cannot take the name of a tool with a face, so no list of names means them by mistake [FR-REG-03] [NFR-SEC-06]", () => {
    const tools = loopToolsOf(grantIndex(manifest("read_file"), manifest("read.file"), manifest("sp.read")), {
      customTools: [face],
    });
    expect(tools.find(({ name }) => name === "read_file")).toBe(face);
    expect(new Set(tools.map(({ name }) => name)).size).toBe(3);
  });

  it("are only registered ones: a face without its tool is not offered [FR-REG-03]", () => {
    expect(
      loopToolsOf(grantIndex(manifest("other")), { customTools: [face] }).map(({ name }) => name),
    ).toEqual(["other"]);
  });

  it("leave out operations that take no object, and what is not wanted [FR-REG-03]", () => {
    const odd = manifest("odd", { text: { inputSchema: { type: "string" } }, any: { inputSchema: {} } });
    expect(namesOf(odd)).toEqual(["odd__any"]);
    const wanted = (_: ToolManifest, operation: string) => operation !== "any";
    expect(loopToolsOf(grantIndex(odd), { wanted })).toEqual([]);
  });
});

describe("what is offered to a model", () => {
  const registered = loopToolsOf(grantIndex(manifest("b"), manifest("a")));
  const manual = [{ name: "by_hand", description: "", inputSchema: OBJECT }];
  const names = (offering: Parameters<typeof offeredTools>[0]) =>
    offeredTools(offering).map(({ name }) => name);

  it("is nothing while tools are disabled [FR-MODE-01]", () => {
    expect(names({ mode: "disabled", registered, manual })).toEqual([]);
  });

  it("is what is registered when enabled, and never what only a person can answer [FR-REG-03] [CFG-TOOLS-02a]", () => {
    expect(names({ mode: "enabled", registered, manual })).toEqual(["a", "b"]);
  });

  it("is what is configured when the person supplies the results, or else what is registered [FR-REG-03]", () => {
    expect(names({ mode: "parse_only", registered, manual })).toEqual(["by_hand"]);
    expect(names({ mode: "parse_only", registered, manual: [] })).toEqual(["a", "b"]);
  });

  it("is sorted and the same to the byte each time, with object schemas [NFR-MAIN-03]", () => {
    const bare = { name: "0", description: "d", inputSchema: true };
    const definitions = definitionsOf([...registered.toReversed(), bare]);
    expect(JSON.stringify(definitions)).toBe(JSON.stringify(definitionsOf([bare, ...registered])));
    expect(definitions[0]).toEqual({
      type: "function",
      name: "0",
      description: "d",
      inputSchema: { type: "object" },
    });
    expect(definitions[1]).toMatchObject({ name: "a", inputSchema: OBJECT });
  });
});
