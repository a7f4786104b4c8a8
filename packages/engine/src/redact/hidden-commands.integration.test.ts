import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createRedactor, type Redactor } from "./redact.ts";

const PIECES = [
  ...["password", "TOKEN", "Authorization", "--password", "X=", "=", ":", "=>", "%3D", "://u:", "@h"],
  ...[" ", " ", " ", "\t", "\n", "\\", "\\\n", "'", '"', "`", "$(", ")", "${", "}", "{", ",", "[", "]"],
  ...[";", "|", "&", "#", "+", "-", "<<E\n", "E\n", "<password>", "</password>", "bearer ", "Basic "],
  ...["curl ", "-H ", "-H '", '--header "', "Authorization: Bearer ", "-u ", "u:", "-uu:"],
  ...["pwned", "pwned", "pwned", "sudo -p ", "eval ", "alias ", "$TOKEN", "true", "x"],
];
const BEGINNINGS = [
  ...["", "X=", "TOKEN=", "password=", "sudo -p ", "password: ", "X=password: ", '{"password": '],
  ...["curl -H 'Authorization: Bearer ", 'sudo "-p -H "Authorization: Bearer ', "curl -u u:"],
];
const MARKER = /\[REDACTED[A-Z_]*\]/;
const MOST_RUNS = 250;
/** The control group: the record hides a command in each, so that the search for one can fail. */
const HIDDEN_ON_RECORD = [
  ...["TOKEN= pwned", "TOKEN=`pwned `", "password=[;pwned", "password: |pwned", "curl -u u:;pwned"],
  ...["curl -u u:`pwned`", "X=password:  pwned", "TOKEN= pwned$TOKEN"],
];

const commands = fc
  .tuple(
    fc.constantFrom(...BEGINNINGS),
    fc.array(fc.constantFrom(...PIECES), { minLength: 2, maxLength: 10 }),
  )
  .map(([beginning, pieces]) => beginning + pieces.join(""))
  .filter((command) => command.includes("pwned"));

/** The command with every `pwned` that a person sees made harmless: only a hidden one can run. Undefined when none is. */
function hiddenOnly(command: string, shown: string): string | undefined {
  if (shown.split("pwned").length === command.split("pwned").length) return undefined;
  let at = 0;
  let left = "";
  for (const piece of shown.split(MARKER)) {
    const found = command.indexOf(piece, at);
    if (found === -1) return command;
    left += command.slice(at, found) + piece.replaceAll("pwned", "nothing");
    at = found + piece.length;
  }
  return left + command.slice(at);
}

describe("commands with a part hidden from the person who decides [FR-APR-01]", () => {
  let folder = "";
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), "hidden-commands-"));
    mkdirSync(join(folder, "bin"));
    mkdirSync(join(folder, "cwd"));
    writeFileSync(join(folder, "bin/pwned"), `#!/bin/sh\necho ran > ${folder}/ran\n`, { mode: 0o755 });
    const wrapper = '#!/bin/sh\n[ "$1" = -p ] && shift 2\nexec "$@"\n';
    writeFileSync(join(folder, "bin/sudo"), wrapper, { mode: 0o755 });
  });
  afterAll(() => rmSync(folder, { recursive: true }));

  /** Nothing but the two programs above is found. */
  function runsPwned(command: string): boolean {
    const ran = join(folder, "ran");
    rmSync(ran, { force: true });
    const env = { PATH: join(folder, "bin") };
    spawnSync("/bin/sh", ["-c", command], { cwd: join(folder, "cwd"), env, timeout: 5_000, stdio: "ignore" });
    return existsSync(ran);
  }

  function hiddenPart(redactor: Redactor, command: string): string | undefined {
    return hiddenOnly(command, redactor.redactText(command));
  }

  it("run nothing that is hidden", { timeout: 60_000 }, () => {
    const redactor = createRedactor({ purpose: "decision" });
    const hidden = [...HIDDEN_ON_RECORD, ...fc.sample(commands, { numRuns: 20_000 })]
      .flatMap((command) => hiddenPart(redactor, command) ?? [])
      .slice(0, MOST_RUNS);
    expect(hidden).toHaveLength(MOST_RUNS);
    expect(hidden.filter(runsPwned)).toEqual([]);
  });

  it.each(HIDDEN_ON_RECORD)("would, were it redacted as for the record: %j", (command) => {
    const hidden = hiddenPart(createRedactor(), command);
    expect(hidden !== undefined && runsPwned(hidden)).toBe(true);
  });
});
