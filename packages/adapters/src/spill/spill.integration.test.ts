import { mkdtemp, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createEngine, createMemoryStore, grantAuthority } from "@sallyport/engine";
import { OutputBudgets } from "@sallyport/loop";
import { isFailure, SallyportError } from "@sallyport/protocol";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { openSpill, readOutputTool, type SpillFolder } from "./index.ts";

let folder: string;
let spill: SpillFolder;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "sallyport-spill-"));
  spill = openSpill(join(folder, "output"));
});
afterEach(() => rm(folder, { recursive: true }));

const keep = (text: string, conversationId = "c1", callId = "call") =>
  spill.keep({ conversationId, callId, text });

describe("output that was too long", () => {
  it("is kept whole, and only its owner and its conversation can read it [FR-OUT-04]", async () => {
    const name = await keep("grüezi\u0000\n");
    expect(await spill.read("c1", name)).toBe("grüezi\u0000\n");
    expect(await spill.read("c2", name)).toBeUndefined();
    expect((await stat(join(folder, "output"))).mode & 0o077).toBe(0);
    expect(spill.hint(name)).toContain(name);
  });

  it.each(["../../etc/passwd", "", ".", "0123456789abcdef/../x", "0123456789ABCDEF", "x".repeat(5_000)])(
    "is not found under a name nobody gave: %j",
    async (name) => {
      await keep("secret");
      expect(await spill.read("c1", name)).toBeUndefined();
    },
  );

  it("keeps ids of others' choosing out of paths, and replaces what the same call gave before", async () => {
    const name = await keep("one", "../../c", "/../call");
    expect(await keep("two", "../../c", "/../call")).toBe(name);
    expect(await spill.read("../../c", name)).toBe("two");
  });
});

describe("read_output", () => {
  async function reading(text: string, availableBytes = 1_000) {
    const outputBudgets = new OutputBudgets();
    const { tool } = readOutputTool({ spill, outputBudgets });
    const grant = {
      id: "all",
      tenants: ["*"],
      agents: ["*"],
      tools: ["*"],
      operations: ["*"],
      capabilities: [],
    };
    const engine = await createEngine({ store: createMemoryStore(), authority: grantAuthority([grant]) });
    const added = await engine.tools.add(tool, { keep: false });
    if (isFailure(added)) throw new SallyportError(added);
    const id = await keep(text);
    let calls = 0;
    return async (input: object, session = "c1") => {
      calls += 1;
      const callId = `read-${calls}`;
      outputBudgets.give(callId, { maxOutputBytes: 5_000, availableBytes });
      const caller = { tenant: "t", agent: "a", session };
      const answer = await engine.call({ tool: "read_output", input: { id, ...input }, callId, caller });
      return answer.status === "success" ? answer.result : answer.error.code;
    };
  }

  it("gives the lines that are asked for, and nothing of another conversation [FR-OUT-04]", async () => {
    const read = await reading("a\nb\nc\n");
    expect(await read({})).toBe("a\nb\nc\n");
    expect(await read({ start_line: 2, end_line: 2 })).toBe("b");
    expect(await read({}, "c2")).toBe("E3907");
    expect(await read({ id: "0000000000000000" })).toBe("E3907");
  });

  it.each([
    [{ start_line: 3, end_line: 2 }],
    [{ start_line: 99 }],
    [{ start_line: 0 }],
    [{ start_line: "1" }],
    [{ more: true }],
  ])("refuses what makes no sense: %j", async (input) => {
    const read = await reading("a\nb\n");
    expect(await read(input)).toBe("E3901");
  });

  it("goes on where the room ended, until everything was read, one endless line too [FR-OUT-04]", async () => {
    const text = "😀x".repeat(4_000);
    const read = await reading(text, 9_000);
    let whole = "";
    let start = 1;
    for (let round = 0; round < 20 && start > 0; round += 1) {
      const part = String(await read({ start_line: start }));
      const [, lines = part, next = "0"] = /^([\s\S]*)\n\.\.\. \[.*start_line (\d+)\]$/.exec(part) ?? [];
      expect(Buffer.byteLength(part)).toBeLessThanOrEqual(5_000);
      whole += lines.replaceAll("\n", "");
      start = Number(next);
    }
    expect(whole).toBe(text);
  });
});
