import { join } from "node:path";
import { type CallAnswer, isFailure } from "@sallyport/protocol";
import { afterAll, describe, expect, it } from "vitest";
import { openPathSandbox } from "../path-sandbox/index.ts";
import { openSandboxedHouse } from "../sandbox-runners/fixtures/sandboxed-house.ts";
import { snapshot } from "../workspace/testing/snapshot.ts";
import { type BuiltHouse, failureOf, inHouse } from "./fixtures/built-house.ts";
import { builtinTools, commandResultText } from "./index.ts";

const sandboxed = await openSandboxedHouse();

describe("run_command, as it is defined", () => {
  it("has the shell's time limit, and the file tools theirs [CFG-TMO-01]", () =>
    inHouse({}, async ({ tools }) => {
      const limits = Object.values(tools).map(({ tool }) => [
        tool.manifest.id,
        tool.manifest.limits.timeoutMs,
      ]);
      expect(Object.fromEntries(limits)).toEqual({
        read_file: 30_000,
        write_file: 30_000,
        apply_patch: 30_000,
        list_directory: 30_000,
        run_command: 300_000,
      });
    }));

  it("takes its time limits from the house [CFG-TMO-01]", () =>
    inHouse({ tools: { limits: { shellTimeoutMs: 7_000, fileTimeoutMs: 5_000 } } }, async ({ tools }) => {
      expect(tools.run_command?.tool.manifest.limits.timeoutMs).toBe(7_000);
      expect(tools.read_file?.tool.manifest.limits.timeoutMs).toBe(5_000);
    }));

  it("uses the system's shell, with the command as one argument [FR-EXE-06]", () =>
    inHouse({ tools: { platform: "win32" } }, async ({ tools }) => {
      expect(tools.run_command?.tool.programs.run?.command).toEqual(["cmd.exe", "/C", "{command}"]);
    }));

  it("asks a person every time, and says what it would run [FR-TOOL-CMD-01] [FR-APR-01]", () =>
    inHouse({}, async ({ call, engine }) => {
      const answer = await call("run_command", {
        command: "echo hi; export API_KEY=sk-abcdefghijklmnopqrstuvwx",
      });
      expect(answer.status).toBe("pending_approval");
      const approval = await engine.approvals.get(answer.approval?.approvalId ?? "");
      expect(approval).toMatchObject({ because: "tool", risk: "high" });
      expect(approval && "summary" in approval && approval.summary).toMatch(/^Run command: echo hi; /);
      expect(JSON.stringify(approval)).not.toContain("sk-abcdefghijklmnopqrstuvwx");
    }));

  it("refuses a blank command [FR-TOOL-CMD-01]", () =>
    inHouse({}, async ({ call }) => {
      for (const command of ["", " \n"])
        expect(failureOf(await call("run_command", { command })).code).toBe("E3901");
    }));
});

describe.skipIf(!sandboxed)("run_command, as it runs", () => {
  if (!sandboxed) return;
  const { sandbox } = sandboxed;
  afterAll(() => sandboxed.close());

  async function run({ call, engine }: BuiltHouse, command: string): Promise<CallAnswer> {
    const asked = await call("run_command", { command });
    await engine.approvals.approve(asked.approval?.approvalId ?? "", { by: "ada" });
    const answer = await engine.resume(asked.callId);
    if (isFailure(answer)) throw new Error(answer.message);
    return answer;
  }

  const textOf = (answer: CallAnswer) =>
    answer.status === "success"
      ? commandResultText(answer.result)
      : `${answer.error.code} ${answer.error.message}`;

  it("gives what it prints, isolated as strongly as can be, and keeps its files [FR-TOOL-CMD-01]", () =>
    inHouse({ sandbox, files: { "a.txt": "one\n" } }, async (house) => {
      const answer = await run(house, "cat a.txt; echo two >> a.txt; echo oops >&2; cat");
      expect(textOf(answer)).toBe("one\n\n\n[stderr]\noops\n");
      expect(answer.isolation?.level).toBe("LEVEL_2");
      expect(house.text("a.txt")).toBe("one\ntwo\n");
      expect(answer.effects?.files).toMatchObject([{ path: "a.txt", change: "edited" }]);
    }));

  it("keeps its files though it prints more than is taken [FR-OUT-04]", () =>
    inHouse({ sandbox }, async (house) => {
      const answer = await run(house, "echo made > new; yes | head -c 10000000");
      expect(textOf(answer)).toMatch(/^y\ny\n.*\n\[\d+ bytes left out\]$/s);
      expect(house.text("new")).toBe("made\n");
    }));

  it.each(["exit 3", "kill -SEGV $$", "false"])(
    "takes its files back when it ends in: %s [FR-TOOL-CMD-01]",
    (ending) =>
      inHouse({ sandbox, files: { "a.txt": "one\n", "d/b": "b" } }, async (house) => {
        const before = await snapshot(house.root, { times: true });
        const answer = await run(house, `rm -r d; echo x > a.txt; echo n > new; ${ending}`);
        const failed = failureOf(answer);
        expect(failed.code).toBe(ending.startsWith("kill") ? "E3107" : "E3108");
        if (ending === "exit 3") expect(failed).toMatchObject({ details: { exitCode: 3 } });
        if (ending === "exit 3") expect(failed.message).toContain("exit code 3");
        expect(answer.rollback).toMatchObject({ verified: true, files: { verified: true } });
        expect(await snapshot(house.root, { times: true })).toEqual(before);
      }),
  );

  it("is ended at its time limit, and its files are taken back [CFG-TMO-01] [FR-TOOL-CMD-01]", () =>
    inHouse({ sandbox, tools: { limits: { shellTimeoutMs: 1_500 } } }, async (house) => {
      expect(failureOf(await run(house, "echo x > new; sleep 60")).code).toBe("E3103");
      expect(await snapshot(house.root)).toEqual({});
    }));

  it("inherits the environment without its secrets [FR-EXE-06] [CFG-ENV-01]", () => {
    const env = { GREETING: "hi there", MY_API_KEY: "no", AWS_PROFILE: "no", HOME: "/root", OWN_THING: "no" };
    return inHouse({ sandbox, tools: { env, environmentDenylist: ["OWN_*"] } }, async (house) => {
      const lines = textOf(await run(house, "env")).split("\n");
      expect(lines).toContain("GREETING=hi there");
      expect(lines.filter((line) => /^(MY_API_KEY|AWS_PROFILE|OWN_THING)=|=no$|\/root/.test(line))).toEqual(
        [],
      );
    });
  });

  it("starts in the first root, with an empty standard input and no network [FR-EXE-06]", () =>
    inHouse({ sandbox }, async (house) => {
      expect(textOf(await run(house, "pwd"))).toBe(`${house.root}\n`);
      expect(textOf(await run(house, "wc -c"))).toBe("0\n");
      expect(textOf(await run(house, "ls /sys/class/net 2>/dev/null | grep -v '^lo$' | wc -l"))).toBe("0\n");
    }));

  it("starts in the folder that is given, whatever its name, and the command is read only once [FR-EXE-06]", () =>
    inHouse({ sandbox, startIn: "-d '$(id)' \"x" }, async (house) => {
      const folder = join(house.root, "-d '$(id)' \"x");
      expect(textOf(await run(house, "pwd"))).toBe(`${folder}\n`);
      expect(textOf(await run(house, `printf '%s' "\\$HOME" '$(id)' "it's"`))).toBe("$HOME$(id)it's");
      expect(failureOf(await run(house, "exit 7"))).toMatchObject({ details: { exitCode: 7 } });
    }));

  it("does not start outside the workspace [FR-EXE-06]", () =>
    inHouse({ sandbox }, async ({ root, reads, room }) => {
      const paths = openPathSandbox({ roots: [root] });
      const made = () =>
        builtinTools({ root, reads, sandbox: paths, outputBudgets: { of: () => room }, cwd: "/tmp" });
      expect(made).toThrow(/E3919/);
    }));
});
