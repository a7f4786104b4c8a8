import { chmodSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { commandsIn, runLine } from "./fixtures/run-line.ts";
import { hint, invokedAs } from "./invoked-as.ts";

let folder: string;
const [, script] = process.argv;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "sallyport-invoked-"));
});
afterEach(() => {
  process.argv[1] = script ?? "";
  vi.unstubAllEnvs();
  rmSync(folder, { recursive: true, force: true });
});

/** A program of ours with a link to it, as npm makes one. */
function installed(name = "installed"): { program: string; bin: string; link: string } {
  const program = join(folder, name, "node_modules/sallyport/bin/sallyport.js");
  const bin = join(folder, name, "node_modules/.bin");
  mkdirSync(join(program, ".."), { recursive: true });
  mkdirSync(bin);
  writeFileSync(program, "");
  chmodSync(program, 0o755);
  symlinkSync(program, join(bin, "sallyport"));
  return { program, bin, link: join(bin, "sallyport") };
}

describe("a hint names the command as it was invoked [X-17]", () => {
  it("by name where a shell finds this program by it", () => {
    const { link, bin } = installed();
    expect(invokedAs(link, { PATH: `/nowhere:${bin}` })).toBe("sallyport");
    const other = installed("other");
    expect(invokedAs(link, { PATH: `${other.bin}:${bin}` })).toBe(link);
  });

  it("through npx where npm found it", () => {
    const { link, bin, program } = installed();
    expect(invokedAs(link, { PATH: bin, npm_command: "exec" })).toBe("npx sallyport");
    expect(invokedAs(program, { npm_command: "run-script" })).toBe(program);
  });

  it("by its path otherwise, in words that a shell reads", () => {
    const { program, link } = installed("it's here");
    const quoted = (path: string) => `'${path.replace("'", "'\\''")}'`;
    expect(invokedAs(link, {})).toBe(quoted(link));
    chmodSync(program, 0o644);
    expect(invokedAs(program, {})).toBe(`node ${quoted(program)}`);
  });

  it("by its plain name where the process is not the command", () => {
    for (const path of [undefined, "/x/vitest.mjs", "/x/index.js"])
      expect(invokedAs(path, { npm_command: "exec" })).toBe("sallyport");
  });

  it("everywhere in a text, once, and only where it is a command", () => {
    process.argv[1] = installed().link;
    vi.stubEnv("npm_command", "exec");
    const text =
      "`sallyport calls list`; T=$(sallyport token mint --x), sallyport --help, sallyport <command>";
    const shown = text.replaceAll("sallyport", "npx sallyport");
    expect([hint(text), hint(shown)]).toEqual([shown, shown]);
    for (const other of ["@sallyport/engine", "./sallyport call", "issuer `sallyport`.", "sallyport.yaml"])
      expect(hint(other)).toBe(other);
  });
});

/** Commands in a text that a reader of `npx sallyport` could not paste. */
const bare = (text: string) => text.match(/(?<!npx |[\w/@.])sallyport [a-z<[-].*/g);

describe("every command line prints commands that can be pasted [X-17]", () => {
  beforeEach(() => {
    process.argv[1] = installed().link;
    vi.stubEnv("npm_command", "exec");
    vi.stubEnv("SALLYPORT__TOKENS__REQUIRED", "true");
  });

  it("in the help of each command", async () => {
    const visit = async (words: string[]): Promise<void> => {
      const { out } = await runLine(folder, [...words, "--help"]);
      expect(out).toContain(`npx sallyport ${words.join(" ")}`.trim());
      expect(bare(out)).toBeNull();
      for (const name of commandsIn(out)) await visit([...words, name]);
    };
    await visit([]);
  });

  it.each([
    [["init", "."]],
    [["worker", "new", "counting"]],
    [["tools", "list"]],
    [["calls", "list"]],
    [["grants", "list"]],
    [["conversations", "list"]],
    [["doctor"]],
    [["keys", "init"]],
    [["demo"]],
    [["approvals", "show", "nothing"]],
    [["config", "explain", "nothing"]],
    [["chat", "--print", "", "--model", "ollama/x"]],
    [["gateway"]],
  ])("in what it answers: %j", async (line) => {
    const { out, err } = await runLine(folder, line);
    expect([bare(out + err), out + err]).toEqual([null, expect.stringContaining("npx sallyport ")]);
  });

  it("in what is wrong with a configuration", async () => {
    writeFileSync(join(folder, "tool.mjs"), 'import "@sallyport/missing";');
    writeFileSync(join(folder, "sallyport.yaml"), "tools: [./tool.mjs]");
    const { out, err } = await runLine(folder, ["config", "check"]);
    expect([bare(out + err), out + err]).toEqual([null, expect.stringContaining("Run `npx sallyport init`")]);
  });

  it("in plain words with --json, which is for programs", async () => {
    const { out } = await runLine(folder, ["approvals", "show", "nothing", "--json"]);
    expect(JSON.parse(out).error.advice).toContain("`sallyport approvals list`");
  });
});
