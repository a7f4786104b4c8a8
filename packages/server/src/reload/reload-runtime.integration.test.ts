import { rmSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { ReloadRoom, toolModule } from "./fixtures/reload-room.ts";

let room: ReloadRoom;
beforeEach(() => {
  room = new ReloadRoom().write("teller.mts", toolModule());
});
afterEach(() => room.remove());

const TOOL = "tools: [./teller.mts]\n";
const EVERYBODY = "grants: [{ id: all, tools: ['*'] }]\n";
const DENY = `version: 1
default: allow
rules:
  - id: no
    effect: deny
    reason: Not today.
    match: { tools: [teller] }
    examples: { match: [{ tool: teller }], not: [{ tool: other }] }
`;

describe("a reload of rules", () => {
  it("applies grants, agents and limits at once, and says which [L3P2-6]", async () => {
    await room.open(TOOL);
    expect(await room.answer()).toBe("E3209");
    room.write(
      "sallyport.yaml",
      `${TOOL}${EVERYBODY}limits: { concurrentCalls: 2 }\nlog: { level: debug }\n`,
    );
    expect(await room.reload()).toEqual({
      ok: true,
      file: join(room.folder, "sallyport.yaml"),
      applied: ["grants", "limits.concurrentCalls", "log.level"],
      needsRestart: [],
      tools: { added: [], changed: [], gone: [] },
    });
    expect(await room.answer()).toBe("one");
    expect(room.runtime.config).toMatchObject({ limits: { concurrentCalls: 2 }, log: { level: "debug" } });
    room.write("sallyport.yaml", `${TOOL}grants: [{ id: some, tools: ['*'], agents: [other] }]\n`);
    await room.reload();
    expect([await room.answer(), await room.answer("teller", "other")]).toEqual(["E3209", "one"]);
  });

  it("puts rules and code into force in one step: nobody calls new code under the old rules", async () => {
    await room.open(TOOL + EVERYBODY);
    const { tools } = room.engine;
    const exchange = tools.exchange.bind(tools);
    const seen: unknown[] = [];
    tools.exchange = async (order) => {
      const refused = await exchange(order);
      seen.push(await room.answer());
      return refused;
    };
    room.write("teller.mts", toolModule({ version: "1.1.0", says: '"two"' }));
    room.write("sallyport.yaml", `${TOOL}grants: [{ id: some, tools: ['*'], agents: [other] }]\n`);
    expect(await room.reload()).toMatchObject({ ok: true });
    expect([...seen, await room.answer("teller", "other")]).toEqual(["E3209", "two"]);
  });

  it("switches single tools off and on", async () => {
    await room.open(TOOL + EVERYBODY);
    room.write("sallyport.yaml", `${TOOL}${EVERYBODY}toolLimits: [{ tools: [tell*], enabled: false }]\n`);
    expect(await room.reload()).toMatchObject({ applied: ["toolLimits"] });
    expect(await room.answer()).toBe("E3014");
    room.write("sallyport.yaml", `${TOOL}${EVERYBODY}toolLimits: []\n`);
    await room.reload();
    expect(await room.answer()).toBe("one");
  });

  it("reads rules files again, takes on new ones and lets go of old ones", async () => {
    room.write("rules.yaml", DENY.replace("effect: deny", "effect: allow"));
    await room.open(`${TOOL}${EVERYBODY}policy: { files: [rules.yaml] }\n`);
    expect(await room.answer()).toBe("one");
    room.write("rules.yaml", DENY);
    expect(await room.reload()).toMatchObject({ ok: true, applied: [] });
    expect(await room.answer()).toMatch(/^E32/);
    room.write("sallyport.yaml", `${TOOL}${EVERYBODY}policy: {}\n`);
    expect(await room.reload()).toMatchObject({ applied: ["policy.files"] });
    expect(await room.answer()).toBe("one");
    expect(room.runtime.rules).toBeUndefined();
  });

  it("keeps what is in force when the file is gone, empty or cut off [L3P2-6]", async () => {
    room.write("rules.yaml", DENY);
    const whole = `${TOOL}${EVERYBODY}policy: { files: [rules.yaml] }\nagents: [{ agents: [x], roles: [y] }]\n`;
    await room.open(whole);
    const refused = async (words: RegExp) => {
      const failure = { code: "E3919", message: expect.stringMatching(words) };
      expect(await room.reload()).toMatchObject({ ok: false, failure });
      expect(await room.answer()).toMatch(/^E32/);
    };
    room.write("sallyport.yaml", TOOL + EVERYBODY);
    await refused(/has lost policy, agents; it may be half written/);
    room.write("sallyport.yaml", "");
    await refused(/has lost policy, agents, tools/);
    rmSync(join(room.folder, "sallyport.yaml"));
    await refused(/no configuration file/);
    room.write("sallyport.yaml", `${TOOL}${EVERYBODY}policy: {}\nagents: []\n`);
    expect(await room.reload()).toMatchObject({ ok: true, applied: ["agents", "policy.files"] });
    expect(await room.answer()).toBe("one");
  });

  it("names what needs a restart, every time, and leaves it as it was", async () => {
    await room.open(TOOL + EVERYBODY);
    const other = `${TOOL}${EVERYBODY}http: { port: 1 }\nlimits: { threads: 1, concurrentCalls: 3 }\n`;
    room.write("sallyport.yaml", other);
    const expected = { ok: true, needsRestart: ["limits.threads", "http.port"] };
    expect(await room.reload()).toMatchObject({ ...expected, applied: ["limits.concurrentCalls"] });
    expect(await room.reload()).toMatchObject({ ...expected, applied: [] });
    expect(room.runtime.config).toMatchObject({
      http: { port: 7420 },
      limits: { threads: 32, concurrentCalls: 3 },
    });
  });

  it("tells whoever wants to know, once it is in force", async () => {
    await room.open(TOOL + EVERYBODY);
    const told: string[] = [];
    const stop = room.runtime.live.follow(({ log }) => told.push(log.level));
    room.write("sallyport.yaml", `${TOOL}${EVERYBODY}log: { level: warn }\n`);
    await room.reload();
    room.write("sallyport.yaml", "nonsense");
    await room.reload();
    stop();
    room.write("sallyport.yaml", TOOL);
    await room.reload();
    expect(told).toEqual(["warn"]);
  });

  it("ends what the policies of the first configuration listen to", async () => {
    await room.open(`${TOOL}${EVERYBODY}policy: { opa: {} }\n`);
    const { listeners } = room.bus;
    expect(await room.reload()).toMatchObject({ ok: true });
    expect(room.bus.listeners).toBe(listeners);
    room.write("sallyport.yaml", `${TOOL}${EVERYBODY}policy: {}\n`);
    expect(await room.reload()).toMatchObject({ ok: true });
    expect(room.bus.listeners).toBe(listeners - 1);
  });

  it("comes one after the other, and leaves no listener behind", async () => {
    const asking = `${TOOL}${EVERYBODY}policy: { opa: {} }\n`;
    await room.open(TOOL + EVERYBODY);
    const { listeners } = room.bus;
    room.write("sallyport.yaml", asking);
    const reports = await Promise.all([room.reload(), room.reload()]);
    expect(reports.map((report) => report.ok && report.applied)).toEqual([
      ["policy.opa.endpoint", "policy.opa.timeoutMs"],
      [],
    ]);
    expect(room.bus.listeners).toBe(listeners + 1);
    room.write("sallyport.yaml", `${asking}tools: [./none.mts]\n`);
    await room.refusal();
    expect(room.bus.listeners).toBe(listeners + 1);
    room.write("sallyport.yaml", `${TOOL}${EVERYBODY}policy: {}\n`);
    await room.reload();
    expect(room.bus.listeners).toBe(listeners);
  });
});

describe("a reload of tools", () => {
  it("takes new modules, lets go of others, and takes them back [L3P2-6]", async () => {
    await room.open(TOOL + EVERYBODY);
    room.write("second.mts", toolModule({ id: "second", says: '"two"' }));
    room.write("sallyport.yaml", `tools: [./second.mts]\n${EVERYBODY}`);
    const moved = { added: ["second@1.0.0"], changed: [], gone: ["teller@1.0.0"] };
    expect(await room.reload()).toMatchObject({ applied: ["tools"], tools: moved });
    expect([await room.answer("second"), await room.answer("teller")]).toEqual(["two", "E3014"]);
    room.write("sallyport.yaml", TOOL + EVERYBODY);
    expect(await room.reload()).toMatchObject({ tools: { added: [], gone: ["second@1.0.0"] } });
    expect([await room.answer("second"), await room.answer("teller")]).toEqual(["E3014", "one"]);
  });

  it.each(["thread", "inline"])("runs changed code from the next call on: %s", async (runner) => {
    await room.open(`tools: [{ module: ./teller.mts, runner: ${runner} }]\n${EVERYBODY}`);
    expect(await room.answer()).toBe("one");
    expect(await room.reload()).toMatchObject({ tools: { changed: [] } });
    room.write("teller.mts", toolModule({ says: '"other"' }));
    expect(await room.answer()).toBe("one");
    expect(await room.reload()).toMatchObject({ applied: [], tools: { changed: ["teller@1.0.0"] } });
    expect(await room.answer()).toBe("other");
    expect(await room.reload()).toMatchObject({ tools: { changed: [] } });
  });

  it("notices when only a file changed that the module imports", async () => {
    room.write("words.mts", 'export const word: string = "one";');
    room.write("teller.mts", toolModule({ imports: 'import { word } from "./words.mts";', says: "word" }));
    await room.open(TOOL + EVERYBODY);
    expect(await room.answer()).toBe("one");
    room.write("words.mts", 'export const word: string = "two";');
    expect(await room.reload()).toMatchObject({ tools: { changed: ["teller@1.0.0"] } });
    expect(await room.answer()).toBe("two");
  });

  it("takes a new version, and the old one is not had any more", async () => {
    await room.open(TOOL + EVERYBODY);
    room.write("teller.mts", toolModule({ version: "1.1.0", says: '"new"' }));
    const tools = { added: ["teller@1.1.0"], changed: [], gone: ["teller@1.0.0"] };
    expect(await room.reload()).toMatchObject({ tools });
    expect(await room.answer()).toBe("new");
  });

  it.each(["thread", "inline"])(
    "rolls back to a version that was loaded before: %s [L3-REG-2]",
    async (runner) => {
      const slow = "new Promise((done) => setTimeout(done, 300, 'gone'))";
      await room.open(`tools: [{ module: ./teller.mts, runner: ${runner} }]\n${EVERYBODY}`);
      expect(await room.answer()).toBe("one");
      await room.reload();
      room.write("teller.mts", toolModule({ version: "1.1.0", says: slow }));
      await room.reload();
      expect(await room.answer()).toBe("gone");
      const running = room.answer();
      await expect.poll(() => room.engine.running().some(({ state }) => state === "EXECUTING")).toBe(true);
      room.write("teller.mts", toolModule());
      const tools = { added: [], changed: ["teller@1.0.0"], gone: ["teller@1.1.0"] };
      expect(await room.reload()).toMatchObject({ tools });
      expect([await room.answer(), await room.answer(), await running]).toEqual(["one", "one", "gone"]);
      expect(await room.reload()).toMatchObject({ tools: { added: [], changed: [], gone: [] } });
      expect([await room.answer(), await room.answer("teller", "other")]).toEqual(["one", "one"]);
      expect(room.engine.tools.definitions()).toMatchObject([{ version: "1.0.0" }]);
    },
  );

  it("keeps refusing a tool that is gone, also after further reloads", async () => {
    await room.open(TOOL + EVERYBODY);
    room.write("sallyport.yaml", `tools: []\n${EVERYBODY}`);
    await room.reload();
    await room.reload();
    expect(await room.answer()).toBe("E3014");
  });
});

describe("a reload that is refused", () => {
  /** Everything else in the new configuration is right, and none of it may come into force. */
  const BETTER = "grants: [{ id: nobody, tools: [none] }]\nlimits: { concurrentCalls: 1 }\n";

  it.each([
    ["a wrong key", "E3919", () => room.write("sallyport.yaml", `${TOOL}${BETTER}lmits: {}\n`)],
    ["no YAML", "E3919", () => room.write("sallyport.yaml", "tools: [")],
    [
      "no rules file",
      "E3223",
      () => room.write("sallyport.yaml", `${TOOL}${BETTER}policy: { files: [none.yaml] }\n`),
    ],
    [
      "no module",
      "E3920",
      () => room.write("sallyport.yaml", `tools: [./teller.mts, ./none.mts]\n${BETTER}`),
    ],
    ["a module that does not load", "E3920", () => broken('throw new Error("not today")')],
    ["a module that ends the process", "E3920", () => broken("process.exit(0)")],
    ["a module without tools", "E3920", () => broken("")],
    [
      "the same version with other content",
      "E3011",
      () => spoiled({ id: "teller", says: "7 as never, description" }),
    ],
  ])("for %s leaves everything as it was [L3P2-6]", async (_, code, spoil) => {
    await room.open(`${TOOL}${EVERYBODY}`);
    const { config } = room.runtime;
    room.write("sallyport.yaml", `tools: [./teller.mts, ./bad.mts]\n${BETTER}`);
    spoil();
    const refused = await room.refusal();
    expect(refused.code).toBe(code);
    expect(room.runtime.config).toBe(config);
    expect(await room.answer()).toBe("one");
  });

  function broken(code: string): void {
    room.write("bad.mts", `${code}\nexport {};\n`);
  }

  function spoiled(_: object): void {
    room.write("bad.mts", toolModule({ id: "teller" }).replace("Tells.", "Tells something else."));
  }

  it("says where the file is wrong, and for every module that cannot be had why", async () => {
    await room.open(TOOL + EVERYBODY);
    room.write("sallyport.yaml", `${TOOL}grnts: []\n`);
    expect(await room.refusal()).toMatchObject({
      issues: [{ path: `${room.folder}/sallyport.yaml:2:1`, suggestion: 'did you mean "grants"?' }],
    });
    room.write("sallyport.yaml", "tools: [./none.mts, ./nor-this.mts]\n");
    const { message, issues } = await room.refusal();
    expect(message).toBe("2 tools cannot be loaded.");
    expect(issues?.map(({ reason }) => /none|nor-this/.exec(reason)?.[0])).toEqual(["none", "nor-this"]);
  });

  it("is followed by one that works, once the file is right again", async () => {
    await room.open(TOOL);
    rmSync(join(room.folder, "teller.mts"));
    expect(await room.refusal()).toMatchObject({ code: "E3920" });
    room.write("teller.mts", toolModule({ says: '"back"' })).write("sallyport.yaml", TOOL + EVERYBODY);
    expect(await room.reload()).toMatchObject({ ok: true });
    expect(await room.answer()).toBe("back");
  });
});
