import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { PassThrough, Readable, Writable } from "node:stream";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { refusedFile } from "../runtime/own-folder.ts";
import { VERSION } from "../version.ts";
import { commandsIn, runLine } from "./fixtures/run-line.ts";
import { main } from "./main.ts";

const SALLYPORT = fileURLToPath(new URL("../../bin/sallyport.js", import.meta.url));

let cwd: string;
beforeEach(() => {
  cwd = mkdtempSync(join(tmpdir(), "sallyport-main-"));
});
afterEach(() => {
  vi.unstubAllEnvs();
  rmSync(cwd, { recursive: true, force: true });
});

describe("a command line that fails", () => {
  it("prints a document for --json of its own, and not for that of the command it was to run", async () => {
    const wrong = ["run", "--commit", "--dry-run"];
    const own = await runLine(cwd, [...wrong, "--json", "--", "true"]);
    expect([JSON.parse(own.out).error.code, own.err]).toEqual(["E3921", ""]);
    const another = await runLine(cwd, [...wrong, "--", "true", "--json"]);
    expect([another.out, another.err]).toEqual(["", expect.stringContaining("E3921")]);
  });

  it.each([
    ["stderr", true],
    ["stdout", false],
  ] as const)(
    "colours what goes to stderr only where stderr is a terminal: %s is one",
    async (terminal, coloured) => {
      const written = { stdout: "", stderr: "" };
      const stream = (name: keyof typeof written) =>
        Object.assign(
          new Writable({
            write(chunk, _encoding, done) {
              written[name] += chunk;
              done();
            },
          }),
          { isTTY: name === terminal, getColorDepth: () => 8 },
        );
      const io = { stdin: new PassThrough().end(), stdout: stream("stdout"), stderr: stream("stderr"), cwd };
      vi.stubEnv("NO_COLOR", undefined);
      vi.stubEnv("FORCE_COLOR", undefined);
      expect(await main(["calls", "show", "nothing"], io)).toBe(2);
      expect(written.stdout).toBe("");
      expect(written.stderr.startsWith("\u001b[31mE3917")).toBe(coloured);
      expect(written.stderr).toContain("There is no call nothing.");
    },
  );
});

describe("a state folder that this user cannot use", () => {
  const ID = "01a1f5c8-5257-7000-b57a-e542a80fc301";
  it.each([
    ["audit verify"],
    ["calls list"],
    [`calls show ${ID}`],
    [`calls resume ${ID}`],
    ["approvals list"],
    [`approvals approve ${ID}`],
    ["grants list"],
    ["tools list"],
    ["keys list"],
    ["keys init"],
    ["conversations list"],
    ["call none {}"],
    ["run -- true"],
    ["demo"],
    ["serve --port 0"],
    [`undo ${ID}`],
  ])("is E3914 with a hint, and no defect: %s", async (line) => {
    writeFileSync(join(cwd, ".sallyport"), "in the way");
    const { code, err } = await runLine(cwd, line.split(" "));
    expect([code, err]).toEqual([70, expect.stringMatching(/^E3914 .*ENOTDIR|^E3914 .*EEXIST/)]);
    expect(err).toContain("--state-dir FOLDER");
    expect(err).not.toContain("defect");
  });

  it("is told with its owner, also by doctor", async () => {
    writeFileSync(join(cwd, ".sallyport"), "in the way");
    const { out } = await runLine(cwd, ["doctor"]);
    expect(out).toMatch(/store: E3914 .*ENOTDIR.*\n.*--state-dir/);
    const denied = { code: "EACCES", syscall: "stat", path: "/proc/1/nothing/at/all" };
    expect(refusedFile(Object.assign(new Error("EACCES"), denied))).toMatchObject({
      code: "E3914",
      message: expect.stringMatching(process.getuid?.() === 0 ? /EACCES\.$/ : /\/proc.* belongs to user 0/),
    });
    expect(refusedFile(new Error("EACCES"))).toBeUndefined();
  });
});

it("asks for a report of a defect with what there is to report: without a call, no call id", async () => {
  const { code, err } = await runLine(
    cwd,
    ["call", "none", "-"],
    Readable.from([]).destroy(new Error("torn")),
  );
  expect([code, err]).toEqual([70, expect.stringMatching(/^E3900 .*torn\n.*→ Report this with the command/)]);
});

describe("a file that a command needs", () => {
  it.each([
    ["policy backtest", "There are no candidate rules", "Copy a file of policy.files"],
    ["audit verify --file none.ndjson", "There is no file /.*none.ndjson", "Name a file"],
    ["call none @none.json", "There is no file /.*none.json", "Name a file"],
    ["tools lint none.json", "There is no file /.*none.json", "Name a file"],
  ])("is asked for in words when it is missing: %s", async (line, words, advice) => {
    const { code, err } = await runLine(cwd, line.split(" "));
    expect([code, err]).toEqual([2, expect.stringMatching(new RegExp(`^E3921 ${words}.*\n  → ${advice}`))]);
    expect(err).not.toContain("ENOENT");
  });
});

describe("a uid that the password file does not know", () => {
  // Imports first: the sources may be closed to that uid.
  const script = `const { Session } = await import(${JSON.stringify(new URL("./session.ts", import.meta.url).href)});
    process.setgid(54321);
    process.setuid(54321);
    const { stdin, stdout, stderr } = process;
    console.log(new Session({}, { stdin, stdout, stderr, cwd: "/" }).caller({}).user);`;

  it.skipIf(process.getuid?.() !== 0).each([
    [{}, "uid:54321"],
    [{ USER: "ada" }, "ada"],
  ])("acts by the name it says it has, or by its number: %j", (env, name) => {
    const ran = spawnSync(process.execPath, ["--input-type=module", "-e", script], { env, encoding: "utf8" });
    expect([ran.stderr, ran.stdout]).toEqual(["", `${name}\n`]);
  });
});

describe("a Node that is too old [X-17]", () => {
  const OLD = "data:text/javascript,Object.defineProperty(process.versions,'node',{value:'22.20.0'})";
  const runOld = (bin: string, ...words: string[]) => {
    const ran = spawnSync(process.execPath, ["--import", OLD, bin, ...words], { cwd, encoding: "utf8" });
    return [ran.status, ran.stdout, ran.stderr];
  };

  it("runs the command with the newer one of the installation, exit code and all", () => {
    expect(runOld(SALLYPORT, "--version")).toEqual([0, `${VERSION}\n`, ""]);
    expect(runOld(SALLYPORT, "nothing")[0]).toBe(2);
  });

  it("is told so in one line where the installation has none, or an old one", () => {
    cpSync(join(SALLYPORT, ".."), join(cwd, "bin"), { recursive: true });
    writeFileSync(join(cwd, "package.json"), '{ "type": "module" }');
    const said =
      "Sallyport needs Node 24 or newer; this is Node 22.20.0. Add one where Sallyport is installed: npm install node@24\n";
    expect(runOld(join(cwd, "bin/sallyport.js"))).toEqual([70, "", said]);
    mkdirSync(join(cwd, "node_modules/node/bin"), { recursive: true });
    writeFileSync(join(cwd, "node_modules/node/package.json"), '{ "version": "23.1.0" }');
    expect(runOld(join(cwd, "bin/sallyport.js"))).toEqual([70, "", said]);
    // One whose program npm was not allowed to fetch.
    writeFileSync(join(cwd, "node_modules/node/package.json"), '{ "version": "24.1.0" }');
    expect(runOld(join(cwd, "bin/sallyport.js"))).toEqual([70, "", said]);
  });

  it.each(["SIGTERM", "SIGHUP"] as const)("passes %s on to it, and ends as it does", async (signal) => {
    writeFileSync(join(cwd, "package.json"), '{ "type": "module" }');
    cpSync(join(SALLYPORT, "../newer-node.js"), join(cwd, "bin/newer-node.js"));
    const body = `if (Number(process.versions.node.split(".")[0]) < 24) (await import("./newer-node.js")).runWithNode(24);
      else { process.on("${signal}", () => { console.log("heard"); process.exit(9); }); console.log("on"); process.stdin.on("end", () => process.exit(1)).resume(); }`;
    writeFileSync(join(cwd, "bin/sallyport.js"), body);
    mkdirSync(join(cwd, "node_modules"));
    symlinkSync(join(SALLYPORT, "../../../../node_modules/node"), join(cwd, "node_modules/node"));
    const child = spawn(process.execPath, ["--import", OLD, "bin/sallyport.js"], { cwd, stdio: "pipe" });
    const [first] = await once(child.stdout, "data");
    expect(String(first)).toBe("on\n");
    child.kill(signal);
    const [[heard], [code]] = await Promise.all([once(child.stdout, "data"), once(child, "close")]);
    expect([String(heard), code]).toEqual(["heard\n", 9]);
  });
});

describe("the state folder", () => {
  const CALL = ["call", "nothing", "{}"];

  it.each([
    ["call", CALL],
    ["keys init", ["keys", "init"]],
  ])("is ignored by Git once there is one: %s", async (_, line) => {
    await runLine(cwd, line);
    expect(readFileSync(join(cwd, ".sallyport/.gitignore"), "utf8")).toBe("*\n");
    rmSync(join(cwd, ".sallyport/.gitignore"));
    await runLine(cwd, CALL);
    expect(existsSync(join(cwd, ".sallyport/.gitignore"))).toBe(true);
    writeFileSync(join(cwd, ".sallyport/.gitignore"), "");
    await runLine(cwd, CALL);
    expect(readFileSync(join(cwd, ".sallyport/.gitignore"), "utf8")).toBe("");
  });

  it("does not hide a folder that was there before and holds other things", async () => {
    await runLine(cwd, [...CALL, "--state-dir", "."]);
    expect(existsSync(join(cwd, "sallyport.db"))).toBe(true);
    expect(existsSync(join(cwd, ".gitignore"))).toBe(false);
  });
});

describe("docs/cli.md", () => {
  const doc = readFileSync(new URL("../../../../docs/cli.md", import.meta.url), "utf8");
  const rows = [...doc.matchAll(/^\| (`.*?) \|(.*)$/gm)].map(([, names = "", text = ""]) => ({
    names,
    text,
  }));

  it("names every command there is, and only options that these have", async () => {
    const help = async (...args: string[]) => (await runLine(cwd, [...args, "--help"])).out;
    for (const name of commandsIn(await help())) {
      const own = rows.filter(({ names }) => new RegExp(`^\`${name}\\b`).test(names));
      expect([name, own.length > 0]).toEqual([name, true]);
      const subcommands = commandsIn(await help(name));
      const listed = own.flatMap(({ names }) =>
        [...names.matchAll(/`(?:\w+ )?(\w+)`/g)].map(([, word]) => word),
      );
      if (subcommands.length > 0) expect([name, listed.toSorted()]).toEqual([name, subcommands.toSorted()]);
      const helps = [
        await help(name),
        ...(await Promise.all(subcommands.map((word) => help(name, word)))),
      ].join();
      for (const [option] of own
        .map(({ text }) => text)
        .join()
        .matchAll(/--[a-z-]+/g))
        expect(helps).toContain(option);
    }
  });
});
