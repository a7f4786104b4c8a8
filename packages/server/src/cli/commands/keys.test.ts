import { chmodSync, statSync } from "node:fs";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { TokenLine } from "./fixtures/token-line.ts";

let line: TokenLine;
beforeEach(() => {
  line = new TokenLine();
});
afterEach(() => line.remove());

describe("sallyport keys", () => {
  it("makes keys once, and never overwrites them", async () => {
    const { out } = await line.run(["keys", "init"]);
    expect(out).toMatch(/^Made key [\w-]{16} in .*keys\./);
    expect(statSync(line.keyFolder).mode & 0o777).toBe(0o700);
    expect(await line.refusal(["keys", "init"])).toMatchObject({ code: "E3227" });
  });

  it("rotates, and says what becomes of tokens given out before [L3-PRM-1]", async () => {
    const { kid: first } = JSON.parse((await line.run(["keys", "init", "--json"])).out);
    const { out } = await line.run(["keys", "rotate"]);
    expect(out).toContain(`until now it was ${first}`);
    expect(out).toContain(`Tokens signed by ${first} stay good until they expire, which takes 1 d at most`);
    const { dropped, kept } = JSON.parse((await line.run(["keys", "rotate", "--keep", "0", "--json"])).out);
    expect(dropped).toContain(first);
    expect(kept).toEqual([]);
  });

  it("lists them with their age and which one signs, and nothing secret", async () => {
    await line.run(["keys", "init"]);
    const { kid } = JSON.parse((await line.run(["keys", "rotate", "--json"])).out);
    const lines = (await line.run(["keys", "list"])).out.trim().split("\n");
    expect(lines[0]).toMatch(/^KEY +MADE +AGE +USE$/);
    expect(lines[1]).toMatch(/ago +is accepted$/);
    expect(lines[2]).toMatch(new RegExp(`^${kid} .*ago +signs$`));
    const listed = JSON.parse((await line.run(["keys", "list", "--json"])).out);
    expect(listed.map((key: object) => Object.keys(key))).toEqual([
      ["kid", "createdAt", "signs"],
      ["kid", "createdAt", "signs"],
    ]);
  });

  it("says what to do when there are none, or others can read them", async () => {
    expect(await line.refusal(["keys", "list"])).toMatchObject({
      advice: expect.stringContaining("keys init"),
    });
    expect(await line.refusal(["keys", "rotate"])).toMatchObject({ code: "E3227" });
    expect(await line.refusal(["keys", "rotate", "--keep", "-1"])).toMatch(/0 to 100/);
    await line.run(["keys", "init"]);
    chmodSync(line.keyFolder, 0o755);
    expect(await line.refusal(["keys", "list"])).toMatchObject({
      advice: expect.stringContaining("chmod 700"),
    });
    expect(
      await line.refusal(["token", "mint", "--agent", "a", "--tenant", "t", "--tool", "x"]),
    ).toMatchObject({ code: "E3227" });
  });
});
