import { failure } from "@sallyport/protocol";
import { describe, expect, it, vi } from "vitest";
import type { Principal } from "../principal.ts";
import { agent, OPERATOR, refusal, refused } from "./fixtures/ask.ts";
import { type FixtureDoor, type FixtureTool, SUM, shelve } from "./fixtures/door.ts";
import { opening } from "./fixtures/opening.ts";
import type { RouteContext } from "./parts.ts";

const openDoor = opening();

async function open(tools: FixtureTool[], parts: Partial<RouteContext> = {}): Promise<FixtureDoor> {
  return await openDoor(tools, { parts });
}

const MAIL: FixtureTool = {
  id: "mail.send",
  manifest: {
    category: "external_api",
    tags: ["mail", "people"],
    requiresApproval: true,
    sideEffects: "external",
  },
};
const READ: FixtureTool = { id: "mail.read", manifest: { category: "external_api", tags: ["mail"] } };

/** Tools whose names begin with `mail.read` are all a stranger may know of. */
const NARROW: Partial<RouteContext> = {
  callers: "token",
  authority: { accessRefusal: ({ tool }) => (tool.startsWith("mail.read") ? undefined : failure("E3209")) },
};

describe("GET /v1/tools", () => {
  it("lists the tools that can be called, by name [L3-API-2]", async () => {
    const { ask, engine } = await open([SUM, MAIL, READ]);
    await shelve(engine, { ...READ, version: "1.1.0" });
    const { json } = await ask("listTools");
    expect(json).toMatchObject({ total_count: 3, page: 1, page_size: 50 });
    expect(json.tools).toMatchObject([
      {
        tool_id: "mail.read",
        versions: ["1.0.0", "1.1.0"],
        latest_version: "1.1.0",
        requires_approval: false,
      },
      { tool_id: "mail.send", tool_name: "mail.send", tags: ["mail", "people"], requires_approval: true },
      { tool_id: "sum", category: "computation" },
    ]);
  });

  it("filters by category, by every tag, and by words [L3-API-2]", async () => {
    const { ask } = await open([SUM, MAIL, READ]);
    const ids = async (query: Record<string, string>) =>
      (await ask("listTools", { query })).json.tools as { tool_id: string }[];
    expect((await ids({ category: "external_api" })).map((one) => one.tool_id)).toEqual([
      "mail.read",
      "mail.send",
    ]);
    expect((await ids({ tags: "mail,people" })).map((one) => one.tool_id)).toEqual(["mail.send"]);
    expect((await ids({ capability_query: "send" })).map((one) => one.tool_id)).toEqual(["mail.send"]);
  });

  it("gives pages, and refuses one of more than 200 [L3-API-2]", async () => {
    const { ask } = await open([SUM, MAIL, READ]);
    const { json } = await ask("listTools", { query: { page: "2", page_size: "2" } });
    expect(json).toMatchObject({ total_count: 3, page: 2, page_size: 2, tools: [{ tool_id: "sum" }] });
    for (const query of [
      { page_size: "201" },
      { page: "0" },
      { page: "x" },
      { category: "x" },
      { colour: "red" },
    ]) {
      expect(await refusal(ask("listTools", { query }))).toBe("E3903");
    }
  });

  it("does not show what cannot be called", async () => {
    const { ask, engine } = await open([SUM, READ]);
    await engine.tools.quarantine("mail.read", "1.0.0", { reason: "looked odd", by: "ann" });
    expect((await ask("listTools")).json.tools).toMatchObject([{ tool_id: "sum" }]);
  });

  it("does not show what the operator has switched off, nor a tool whose code is not loaded [L3-API-2]", async () => {
    const { ask, engine } = await open([SUM, READ, MAIL], { isSwitchedOff: (tool) => tool === "mail.read" });
    await shelve(engine, { id: "codeless", codeless: true });
    expect((await ask("listTools")).json).toMatchObject({
      total_count: 2,
      tools: [{ tool_id: "mail.send" }, { tool_id: "sum" }],
    });
  });

  it("reads the registry once, however many tools there are", async () => {
    const { ask, engine } = await open([SUM, MAIL, READ]);
    const list = vi.spyOn(engine.tools, "list");
    expect((await ask("listTools")).json.total_count).toBe(3);
    expect(list).toHaveBeenCalledOnce();
  });

  it("shows an agent with a token only what it may know of, and operators everything", async () => {
    const { ask } = await open([SUM, MAIL, READ], NARROW);
    const known = await ask("listTools", { principal: agent("bob") });
    expect(known.json).toMatchObject({ total_count: 1, tools: [{ tool_id: "mail.read" }] });
    expect((await ask("listTools", { principal: OPERATOR })).json.total_count).toBe(3);
    expect((await ask("listTools")).json.total_count).toBe(0);
  });
});

describe("GET /v1/tools/{tool_id}", () => {
  it("shows the operations with their schemas, of the version that a call gets [L3-API-2]", async () => {
    const { ask } = await open([SUM, MAIL]);
    const { json } = await ask("getTool", { params: { tool_id: "sum" } });
    expect(json).toMatchObject({
      tool_id: "sum",
      current: {
        version: "1.0.0",
        lifecycle: "active",
        operations: { run: { input_schema: SUM.input, side_effects: "none", risk: "low" } },
      },
    });
    const mail = await ask("getTool", { params: { tool_id: "mail.send" } });
    expect(mail.json.current).toMatchObject({
      operations: { run: { risk: "medium", requires_approval: true } },
    });
  });

  it("says that a tool is switched off, and that no version of it can be called [L3-API-2]", async () => {
    const { ask } = await open([SUM, READ], { isSwitchedOff: (tool) => tool === "sum" });
    const params = { tool_id: "sum" };
    expect((await ask("getTool", { params })).json).toMatchObject({
      versions: [],
      latest_version: "1.0.0",
      current: { status: "inactive", lifecycle: "active" },
    });
    const { json } = await ask("listToolVersions", { params });
    expect(json.versions).toMatchObject([{ status: "inactive" }]);
    const other = await ask("getTool", { params: { tool_id: "mail.read" } });
    expect(other.json).toMatchObject({ versions: ["1.0.0"], current: { status: "active" } });
  });

  it("names near ones when there is no such tool, and only those that may be known", async () => {
    const { ask } = await open([SUM, MAIL, READ], NARROW);
    const near = (tool_id: string, principal: Principal) =>
      refused(ask("getTool", { params: { tool_id }, principal }));
    expect(await near("mail.reed", OPERATOR)).toMatchObject({
      code: "E3001",
      details: { nearest: ["mail.read", "mail.send"] },
    });
    expect(await near("mail.reed", agent("bob"))).toMatchObject({ code: "E3209" });
    expect(await near("mail.reads", agent("bob"))).toMatchObject({
      code: "E3001",
      details: { nearest: ["mail.read"] },
    });
  });

  it("tells a stranger the same of a tool that is there and of one that is not", async () => {
    const { ask } = await open([SUM], NARROW);
    const told = (tool_id: string) =>
      refused(ask("getTool", { params: { tool_id }, principal: agent("bob") }));
    expect(await told("sum")).toEqual(await told("none"));
  });

  it("counts an authority that fails as a no", async () => {
    const stranger = () => {
      throw new Error("policy is away");
    };
    const { ask } = await open([SUM], { callers: "token", authority: { accessRefusal: stranger } });
    expect(await refusal(ask("getTool", { params: { tool_id: "sum" }, principal: agent("bob") }))).toBe(
      "E3206",
    );
  });
});

describe("GET /v1/tools/{tool_id}/versions", () => {
  it("shows every version with its lifecycle and where to go [L3-API-2]", async () => {
    const { ask, engine } = await open([SUM]);
    await shelve(engine, { ...SUM, version: "1.1.0" });
    await engine.tools.deprecate("sum", "1.0.0", { replacement: "1.1.0", guidance: "Use the new one." });
    await engine.tools.quarantine("sum", "1.1.0", { reason: "looked odd", by: "ann" });
    const { json } = await ask("listToolVersions", { params: { tool_id: "sum" } });
    expect(json).toMatchObject({
      versions: [
        {
          version: "1.0.0",
          lifecycle: "deprecated",
          deprecation: { replacement: "1.1.0", guidance: "Use the new one." },
        },
        { version: "1.1.0", lifecycle: "active", quarantine: { reason: "looked odd" } },
      ],
    });
    expect(await refusal(ask("getTool", { params: { tool_id: "sum" } }))).toBe("E3014");
  });

  it("tells callers since when a version is in quarantine, and operators why", async () => {
    const { ask, engine } = await open([SUM], { callers: "token" });
    await engine.tools.quarantine("sum", "1.0.0", { reason: "used a host of globex", by: "ann" });
    const asked = { params: { tool_id: "sum" } };
    const seen = await ask("listToolVersions", { ...asked, principal: agent("ann") });
    expect(seen.json.versions).toMatchObject([{ quarantine: { at: expect.any(String) } }]);
    expect(JSON.stringify(seen.json)).not.toContain("globex");
    const { json } = await ask("listToolVersions", { ...asked, principal: OPERATOR });
    expect(json.versions).toMatchObject([{ quarantine: { reason: "used a host of globex" } }]);
  });
});
