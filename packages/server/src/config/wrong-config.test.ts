import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ConfigFolder } from "./fixtures/config-folder.ts";

let folder: ConfigFolder;
beforeAll(() => {
  folder = new ConfigFolder();
});
afterAll(() => folder.remove());

const NUMBER = "expected a whole number from 1";

/** What the file says, where it is wrong, why, and what was probably meant. */
const WRONG: [string, string, RegExp, RegExp | undefined][] = [
  ["htpp: {}", "1:1", /^unknown key "htpp"$/, /"http"/],
  ["limits:\n  threds: 1", "2:3", /unknown key "limits.threds"/, /"threads"/],
  ["zzz: 1", "1:1", /unknown key "zzz"/, /^known keys: state, .*http/],
  ["__proto__: { a: 1 }", "1:1", /unknown key "__proto__"/, /known keys/],
  ["<<: { a: 1 }", "1:1", /unknown key "<<"/, /known keys/],
  ["1: x", "1:1", /unknown key "1"/, /known keys/],
  ["grants:\n  - id: a\n    tools: [t]\n    agnts: [b]", "4:5", /"grants\[0\].agnts"/, /"agents"/],
  ["tools:\n  - a.ts\n  - modul: b.ts\n    module: c.ts", "3:5", /"tools\[1\].modul"/, /"module"/],
  ["tools: [5]", "1:9", /^tools\[0\]: expected text or keys \(module, runner\), found 5$/, undefined],
  ["tools: [{ module: a, runner: thred }]", "1:22", /one of "thread", "inline", "script"/, /"thread"/],
  ["limits: { threads: '5' }", "1:11", new RegExp(`limits.threads: ${NUMBER}, found "5"`), /^write 5$/],
  ["limits: { threads: 1_000 }", "1:11", new RegExp(NUMBER), /^write 1000$/],
  ["limits: { threads: 1.5 }", "1:11", /found 1.5/, undefined],
  [
    "store: { postgres: { url: 'postgres://h/d', poolSize: 3 } }",
    "1:45",
    /a whole number from 4 to 1000, found 3/,
    undefined,
  ],
  ["http: { port: 65536 }", "1:9", /a whole number from 0 to 65535, found 65536/, undefined],
  ["effects: { undoDays: 0 }", "1:12", /a number above 0, at most 365, found 0/, undefined],
  ["events: yes", "1:1", /expected true or false or keys \(sinks\), found "yes"/, /^write true$/],
  [
    "events: { sinks: [{ name: a }] }",
    "1:19",
    /sinks\[0\] needs exactly one of jsonl, http and kafka/,
    undefined,
  ],
  [
    "events: { sinks: [{ name: a, kafka: { brokers: [b] } }] }",
    "1:49",
    /brokers\[0\]: expected host:port/,
    undefined,
  ],
  ["events: { sinks: [{ name: a, http: { url: 'http://u:p@h/' } }] }", "1:38", /holds a password/, undefined],
  [
    "events: { sinks: [{ name: a, jsonl: { file: f } }, { name: a, jsonl: { file: g } }] }",
    "1:11",
    /sinks has two sinks of the same name/,
    undefined,
  ],
  ["events: 'off'", "1:1", /found "off"/, /^write false$/],
  ["caller: { tenant: 42 }", "1:11", /expected text, found 42/, /put it in quotes: "42"/],
  ["durability: proces", "1:1", /one of "power", "process", found "proces"/, /"process"/],
  ["grants:", "1:1", /grants: expected a list, found nothing/, /leave the key out/],
  ["grants: { id: a, tools: [b] }", "1:1", /expected a list, found keys/, /begin it with `- `/],
  ["grants: [{ id: a, tools: b }]", "1:19", /grants\[0\].tools: expected a list/, /\[b\]/],
  ["grants: [{ id: a, tools: [] }]", "1:19", /at least one entry, found an empty list/, undefined],
  ["grants: [{ id: a }]", "1:10", /grants\[0\].tools is missing: expected a list/, undefined],
  ["http: 5", "1:1", /expected keys \(host, port, .*…\), found 5/, undefined],
  ["- a", "1:1", /the configuration: expected keys .*found a list/, undefined],
  ["credentials: { a: { host: h, secret: { evn: x } } }", "1:40", /secret.evn"/, /"env"/],
  ["credentials: { a: { host: h, secret: { env: x, file: y } } }", "1:30", /keys \(env\) or/, undefined],
  ["credentials: [a]", "1:1", /names, each with its settings/, undefined],
  ["http: { publicUrl: 'ftp://x' }", "1:9", /expected a URL/, undefined],
  ["http: { allowedOrigins: ['https://a.b/c'] }", "1:26", /expected an origin/, undefined],
  [
    "models: { default: gpt-5 }",
    "1:11",
    /^models.default: expected provider\/model, such as .*, found "gpt-5"$/,
    undefined,
  ],
  [
    "models: { providers: { 'a b': { kind: openai } } }",
    "1:24",
    /"a b" cannot stand under models.providers: expected a name of/,
    undefined,
  ],
  [
    "models: { providers: { a: { kind: openai, headers: { 'a b': x } } } }",
    "1:54",
    /headers: expected a header name, such as/,
    undefined,
  ],
  [
    "loop: { definitions: [{ name: a b, parameters: {} }] }",
    "1:25",
    /definitions\[0\].name: expected 1 to 64 letters/,
    undefined,
  ],
  [
    "loop: { definitions: [{ name: a, parameters: {} }, { name: a, parameters: {} }] }",
    "1:54",
    /definitions\[1\].name is "a", which another/,
    undefined,
  ],
  ["blobs: { folder: a, floder: x }", "1:21", /unknown key "blobs.floder"/, /"folder"/],
  ["blobs: {}", "1:1", /blobs needs either folder or s3/, undefined],
  [
    "blobs: { s3: { endpoint: 'http://x', bucket: abc, accessKeyId: { env: A }, secretAccessKey: { env: B } } }",
    "1:16",
    /blobs.s3.endpoint has no TLS/,
    undefined,
  ],
  ["toolLimits: [{ tools: [x], enabled: maybe }]", "1:28", /true or false, found "maybe"/, undefined],
];

/** Text that is no YAML, or YAML that means harm. */
const UNREADABLE: [string, string, string, RegExp][] = [
  ["a key twice", "a: 1\na: 2", "2:1", /the key "a" stands here a second time/],
  ["a key twice below", "http:\n  port: 1\n  port: 2", "3:3", /"port" stands here a second time/],
  ["a tab", "http:\n\tport: 1", "2:1", /tabs are not allowed/],
  ["an open list", "http: [1, 2", "1:12", /end with a \]/],
  ["two documents", "a: 1\n---\nb: 2", "2:1", /a second document/],
  ["a tag", "a: !run 1", "1:4", /Unresolved tag/],
  ["a list as a key", "? [a]\n: 1", "1:3", /a key has to be plain text/],
  ["an alias for nothing", "a: *nobody", "1:1", /Unresolved alias/],
  ["a loop", "credentials: &x { a: *x }", "1:1", /within itself/],
  ["a very deep list", `a: ${"[".repeat(50_000)}`, "1", /nested too deep/],
  ["a deep list", `a: ${"[".repeat(60)}${"]".repeat(60)}`, "1:1", /nested too deep/],
];

describe("a wrong configuration", () => {
  it.each(WRONG)(
    "says where, what was expected and what was meant: %s",
    (text, place, reason, suggestion) => {
      const [issue, ...others] = folder.write(`${text}\n`).issues();
      expect(others).toEqual([]);
      expect(issue?.path).toBe(`sallyport.yaml:${place}`);
      expect(issue?.reason).toMatch(reason);
      if (suggestion) expect(issue?.suggestion).toMatch(suggestion);
      else expect(issue).not.toHaveProperty("suggestion");
    },
  );

  it.each(UNREADABLE)("is told from YAML that cannot be read: %s", (_, text, place, reason) => {
    const [issue] = folder.write(text).issues();
    expect(issue?.path).toMatch(new RegExp(`^sallyport\\.yaml:${place}`));
    expect(issue?.reason).toMatch(reason);
  });

  it("is read completely: every wrong place is named, in the order of the file", () => {
    const text = "http:\n  prt: 1\nlimits:\n  threads: x\nevents: 5\n";
    expect(
      folder
        .write(text)
        .issues()
        .map(({ path }) => path),
    ).toEqual(["sallyport.yaml:2:3", "sallyport.yaml:4:3", "sallyport.yaml:5:1"]);
  });

  it("takes no time, whatever is in it", () => {
    const started = performance.now();
    const many = Array.from({ length: 20_000 }, (_, index) => `k${index}: 1`).join("\n");
    const issues = folder.write(many).issues();
    expect(issues).toHaveLength(51);
    expect(issues.at(-1)?.reason).toBe("19950 more places are wrong");
    const bomb = ["a: &a [x, x, x, x, x, x, x, x, x]"];
    for (const [name, before] of ["ba", "cb", "dc", "ed"])
      bomb.push(`${name}: &${name} [${`*${before},`.repeat(9)}]`);
    expect(folder.write(bomb.join("\n")).issues()[0]?.reason).toMatch(/Excessive alias/);
    expect(performance.now() - started).toBeLessThan(45_000);
  });

  it("is not repeated where it holds a secret", () => {
    const secret = "sk-proj-abcdefghijklmnopqrstuvwxyz0123456789";
    const text = `credentials: { a: { host: h, secret: ${secret} } }\nlimits: { threads: ${secret} }\n`;
    const issues = folder.write(text).issues();
    expect(issues).toHaveLength(2);
    expect(JSON.stringify(issues)).not.toContain("abcdefghij");
  });

  it("can use anchors within reason", () => {
    const text =
      "grants:\n  - &one { id: a, tools: [t] }\n  - { id: b, tools: [u] }\nagents: [{ agents: &names [x] , roles: *names }]\n";
    expect(folder.write(text).config().agents[0]?.roles).toEqual(["x"]);
  });
});
