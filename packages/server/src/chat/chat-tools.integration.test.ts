import { afterEach, describe, expect, it, vi } from "vitest";
import { call, scriptedChat } from "./fixtures/scripted-chat.ts";

afterEach(() => void vi.unstubAllEnvs());

describe("commands of a conversation", () => {
  it("do not find the variables that the configuration says secrets are in [FR-EXE-06] [CFG-ENV-01]", async () => {
    vi.stubEnv("LAB_CRED", "lab-provider-words");
    vi.stubEnv("GATE", "gate-header-words");
    vi.stubEnv("SALLYPORT__LOOP__INSTRUCTIONS", "own words");
    vi.stubEnv("HARMLESS", "harmless words");
    await using chat = await scriptedChat(
      [{ calls: [call("run_command", { command: "env" }, "env")] }, { text: "ok" }],
      {
        provider: { apiKey: { env: "LAB_CRED" }, headers: { "x-gate": { env: "GATE" } } },
        loop: { approval: { denylist: [] } },
      },
    );
    await chat.chat.conversation.send("go");
    const { env } = chat.told();
    expect(env).toContain("HARMLESS=harmless words");
    for (const secret of ["lab-provider-words", "gate-header-words", "own words"])
      expect(env).not.toContain(secret);
    expect(chat.model.requests[0]?.headers).toMatchObject({
      authorization: "Bearer lab-provider-words",
      "x-gate": "gate-header-words",
    });
  });
});
