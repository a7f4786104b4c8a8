import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { PassThrough } from "node:stream";
import { openSqliteConversations } from "@sallyport/adapters/conversations";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { main } from "../main.ts";

let cwd: string;
beforeEach(async () => {
  cwd = await mkdtemp(join(tmpdir(), "sallyport-asking-"));
  await inFile(async (conversations) => {
    for (const conversationId of ["talk-1", "talk-2"]) {
      const record = { conversationId, model: "m", cwd: "/", title: `title of ${conversationId}` };
      await conversations.create({ ...record, createdAt: 1, updatedAt: 1 });
    }
  });
});
afterEach(() => rm(cwd, { recursive: true }));

async function inFile<Result>(
  use: (conversations: Awaited<ReturnType<typeof openSqliteConversations>>) => Promise<Result>,
): Promise<Result> {
  const conversations = await openSqliteConversations({
    folder: join(cwd, ".sallyport"),
    durability: "process",
  });
  return await use(conversations).finally(() => conversations.close());
}

const left = () => inFile(async (conversations) => (await conversations.list({ limit: 9 })).length);

/** The command at a terminal where a person types this; nothing at all ends the input. */
async function asked(typed: string | undefined, ...args: string[]) {
  const [stdin, stdout, stderr] = [new PassThrough(), new PassThrough(), new PassThrough()];
  const io = { stdin: Object.assign(stdin, { isTTY: true }), stdout, stderr, cwd };
  if (typed === undefined) stdin.end();
  else stdin.write(`${typed}\n`);
  const code = await main(["conversations", "delete", ...args], io);
  return { code, stdout: String(stdout.read() ?? ""), stderr: String(stderr.read() ?? "") };
}

describe("conversations delete at a terminal", () => {
  it.each(["n", "", "delete", undefined])("keeps everything unless the answer is yes: %j", async (typed) => {
    const { code, stderr, stdout } = await asked(typed, "talk-1", "talk-2");
    expect({ code, stdout }).toEqual({ code: 6, stdout: "" });
    expect(stderr).toMatch(/talk-1 .*title of talk-1\n[\s\S]*Delete these 2 conversations for good\?/);
    expect(stderr).toContain("Nothing was deleted.");
    expect(await left()).toBe(2);
  });

  it.each(["y", "YES"])("deletes on a yes: %s", async (typed) => {
    const { code, stdout, stderr } = await asked(typed, "talk-1");
    expect(stderr).toContain("Delete this conversation for good?");
    expect({ code, stdout }).toMatchObject({ code: 0, stdout: "Deleted talk-1: 0 messages.\n" });
    expect(await left()).toBe(1);
  });

  it("asks nobody with --json, and says how to be sure", async () => {
    const { code, stdout } = await asked("y", "talk-1", "--json");
    expect(code).toBe(2);
    expect(JSON.parse(stdout)).toMatchObject({
      error: { code: "E3921", advice: "Add --yes if you are sure." },
    });
    expect(await left()).toBe(2);
  });
});
