import { describe, expect, it } from "vitest";
import { eventually } from "../../fixtures/tmux-terminal/index.ts";
import { ChatRoom } from "./fixtures/chat-room.ts";

describe("a chat that cannot begin", () => {
  it.concurrent.each([
    ["an unknown mode", ["--mode", "everything"], /everything.*disabled, parse_only, enabled/s],
    ["an unknown flag", ["--modell", "x/y"], /--modell.*--model/s],
    ["an unknown provider", ["--print", "x", "--model", "nobody/one"], /nobody/],
    ["a missing key", ["--print", "x", "--model", "openai/gpt-5"], /OPENAI_API_KEY/],
    ["a missing folder", ["--print", "x", "--cwd", "no/such/folder"], /There is no folder no\/such\/folder/],
    [
      "an unknown conversation",
      ["--print", "x", "--resume", "nope"],
      /no conversation nope.*conversations list/s,
    ],
    ["a way to recover that is none", ["--resume", "last", "--recover", "again"], /again.*resume, discard/s],
    ["nothing to say", ["--print"], /nothing to say/],
  ])("says so of %s", async (_, args, message) => {
    const needsNoKey = args.includes("openai/gpt-5");
    await using room = await ChatRoom.open([], needsNoKey ? { env: { OPENAI_API_KEY: "" } } : {});
    const { code, stdout, stderr } = await room.run("chat", ...args);
    expect(stderr).toMatch(message);
    expect(stdout).toBe("");
    expect(code).toBe(2);
    expect(stderr).not.toMatch(/\n\s+at /);
    expect(room.model.requests).toHaveLength(0);
  });

  it("says so of a configuration that cannot be read", async () => {
    await using room = await ChatRoom.open([]);
    room.write("sallyport.yaml", "models: { default: [\n");
    const { code, stderr } = await room.run("chat", "--print", "x");
    expect([code, stderr]).toEqual([2, expect.stringContaining("sallyport.yaml")]);
    expect(stderr).not.toMatch(/\n\s+at /);
  });

  it("says so of a state folder that a server has", async () => {
    await using room = await ChatRoom.open([{ text: "Hello." }]);
    const server = room.start("serve", "--port", "0");
    await eventually("the server", () =>
      /http:\/\/|listening/i.test(server.ran.stdout + server.ran.stderr) ? true : undefined,
    );
    // In a process of its own, as everything about locks between processes.
    const { code, stderr } = await room.start("chat", "--print", "x").done;
    expect(stderr).toMatch(/\.sallyport/);
    expect(code).not.toBe(0);
    expect(stderr).not.toMatch(/\n\s+at /);
    expect(room.model.requests).toHaveLength(0);
    server.child.kill("SIGTERM");
    expect((await server.done).code).toBe(0);
    expect((await room.print("x")).end).toEqual({ kind: "done", text: "Hello." });
  });
});
