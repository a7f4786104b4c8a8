import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { ADVERSARIES } from "./fixtures/adversarial.ts";
import { ALNUM, drawn, jwt, pemLabel } from "./fixtures/made-up.ts";
import { createRedactor, redact, redactText } from "./redact.ts";
import { describeCall, summaryOf } from "./summary.ts";

const decision = createRedactor({ purpose: "decision" });
const key = drawn(ALNUM, 40);

/** So that no text here reads as a template. */
const DOLLAR = "$";

/** Commands that run `pwned`, written so that a rule would take it for a secret. */
const RUNS_PWNED = [
  ...["API_KEY=`pwned` true", "API_KEY=`touch pwned` true", 'API_KEY="`pwned`" true'],
  ...['tool --password "$(touch pwned)"', "tool --password $(pwned)", "tool --password=$(pwned)"],
  ...["tool --password `pwned`", "tool --password 'x';pwned;'y'", "export TOKEN=$(pwned)"],
  ...["TOKEN=x|pwned", "TOKEN=x&&pwned", "TOKEN='x' password='a';pwned;token='b'"],
  ...['TOKEN="x\npwned\n"', "curl https://bob:$(pwned)@host/", "curl https://bob:x;pwned;@host/"],
  ...["curl https://$(pwned)@host/", "curl https://hooks.slack.com/services/T/$(pwned)"],
  ...["curl https://example.com/?signature=12345678$(pwned)", "cat <password>$(pwned)</password>"],
  "echo a'$(pwned)'b@example.com",
  // A sign with a space after it ends the assignment, and the next word is a command.
  ...["PASSWORD= pwned x", "PASSWORD=\tpwned", "X=password: pwned x", "X=password\\ = pwned x"],
  ...["X=--password pwned x", "X=a\\ --password pwned x", "X=''--password pwned x"],
  ...["X=' '--password pwned x", "X=bearer ./pwned-now1", "authorization=bearer ./pwned-now1"],
  // A header that is no argument of its own, and a user whose password is code.
  ...["sudo -p Authorization: pwned x", "sudo '-p' 'Authorization: 'pwned x"],
  ...[`sudo "-p -H "'Authorization: Bearer' pwned`, 'sudo "-p -H "Authorization: Bearer pwned""'],
  ...[`eval sudo -p -H "Authorization: pwned"`, "curl -H 'Authorization: Bearer x'pwned"],
  ...["curl -u user:$(pwned) x", 'curl -u "user:`pwned`" x', "curl -u user:x;pwned"],
  "curl -u 'user:'`pwned` x",
  // Wrappers whose option takes the next word.
  ...["sudo -p password: pwned x", "sudo -p \\\npassword: pwned x", "sudo -p --password pwned x"],
  ...['sudo "-p" --password pwned x', "sudo -p \\\n--password pwned x"],
  ...["sudo -p \\\n --password pwned x", "sudo $OPTION --password pwned x"],
  // Quotes that the shell reads otherwise.
  ...['password=\\"x pwned\\"', "env 'password=\"' pwned '\"'", 'env "X= --password " pwned "y"'],
  ...['X="\npassword": pwned x', 'X="\n""password": pwned x'],
  // Names of words, JSON that is a script too, a key without an end, and files that are written.
  ...['{"password":\n"./pwned"\n}', `echo "${pemLabel("BEGIN", "")}"\n${key}\npwned`],
  `echo "${pemLabel("BEGIN", "")}" ${key}; pwned; echo "${pemLabel("END", "")}"`,
  ...["echo x password=>pwned", "echo x token => pwned", "echo x <password>pwned</dev/null"],
  // A plain value that another part of the command runs.
  ...["TOKEN=pwned; $TOKEN", `export TOKEN=pwned; sh -c "${DOLLAR}{TOKEN}"`],
  ...[`TOKEN=pwned; X=TOKEN; ${DOLLAR}{!X}`, "alias token=pwned\ntoken", `${DOLLAR}{token:=pwned}`],
  `${DOLLAR}{token=pwned} x`,
];

describe("text for a person who decides [FR-APR-01]", () => {
  it.each(RUNS_PWNED)("shows what runs: %j", (command) => {
    expect(decision.redactText(command)).toContain("pwned");
    expect(JSON.stringify(decision.redact({ command, argv: ["sh", "-c", command] }))).toContain("pwned");
    expect(summaryOf(command)).toContain("pwned");
    expect(describeCall({ tool: "run_command", operation: "run", input: { command } })).toContain("pwned");
    // In a file, or in a text inside a text.
    const diff = `@@ -0,0 +1 @@\n${command.replaceAll(/^/gm, "+")}\n`;
    expect(decision.redactText(diff)).toContain("pwned");
    expect(decision.redactText(JSON.stringify({ script: command, secrets: [command] }))).toContain("pwned");
  });

  it.each([
    ["API_KEY=hunter2 tool", "API_KEY=[REDACTED] tool"],
    ['API_KEY="hunter2" tool; ls', 'API_KEY="[REDACTED]" tool; ls'],
    ["tool --password hunter2 -v", "tool --password [REDACTED] -v"],
    ["tool --user u --password 'hunter2'", "tool --user u --password '[REDACTED]'"],
    ["tool --password=hunter2", "tool --password=[REDACTED]"],
    ["psql postgres://u:hunter2@db/x", "psql postgres://u:[REDACTED_PASSWORD]@db/x"],
    ["db:\n  password: hunter2\n", "db:\n  password: [REDACTED]\n"],
    ["+  password: hunter2", "+  password: [REDACTED]"],
    ["X-Api-Key: hunter2\r\nAccept: */*", "X-Api-Key: [REDACTED]\r\nAccept: */*"],
    ["Authorization: Token hunter2", "Authorization: Token [REDACTED]"],
    ['const password = "hunter2";', 'const password = "[REDACTED]";'],
    ['{"user": "u", "password": "hunter2"}', '{"user":"u","password":"[REDACTED]"}'],
    ['{\n  "user": "u",\n  "password": "hunter2"\n}', '{\n  "user": "u",\n  "password": "[REDACTED]"\n}'],
    ["<password>hunter2</password>", "<password>[REDACTED]</password>"],
    [`curl -H "X-Api-Key: ${key.slice(0, 24)}" x`, 'curl -H "X-Api-Key: [REDACTED]" x'],
    ["curl -u user:hunter2 https://x", "curl -u user:[REDACTED_PASSWORD] https://x"],
    ["curl -su 'user:hunter2' x | sh", "curl -su 'user:[REDACTED_PASSWORD]' x | sh"],
    ["curl --user=user:hunter2 x", "curl --user=user:[REDACTED_PASSWORD] x"],
    ["curl -uuser:hunter2 x", "curl -uuser:[REDACTED_PASSWORD] x"],
    ["docker run -u 1000:1000 x", "docker run -u 1000:1000 x"],
    ["docker run -u app:app x && curl y", "docker run -u app:app x && curl y"],
    ["curl -H 'Authorization: Bearer hunter2' x", "curl -H 'Authorization: Bearer [REDACTED]' x"],
    ['curl --header "Authorization: Bearer a-b" x', 'curl --header "Authorization: Bearer [REDACTED]" x'],
    ["curl -H 'X-Api-Key: hunter2' x", "curl -H 'X-Api-Key: [REDACTED]' x"],
    ["Bearer my-own-token", "Bearer [REDACTED_BEARER]"],
    ["Authorization: Bearer hunter2", "Authorization: Bearer [REDACTED_BEARER]"],
    [`curl -s --token ${"0a1b".repeat(6)} x`, "curl -s --token [REDACTED] x"],
  ])("hides the plain value of a secret name: %j", (text, shown) => {
    expect(decision.redactText(text)).toBe(shown);
  });

  it("hides the password of a user in the arguments of curl", () => {
    const argv = ["/usr/bin/curl", "-u", "user:hunter2", "x"];
    expect(describeCall({ tool: "t", operation: "run", input: { argv } })).not.toContain("hunter2");
    expect(decision.redact(["curl", "-u", "user:$(pwned)"])).toEqual(["curl", "-u", "user:$(pwned)"]);
    expect(redact(["docker", "run", "-u", "app:app"])).toEqual(["docker", "run", "-u", "app:app"]);
  });

  it("hides tokens of known forms wherever they stand, inside code too", () => {
    const token = `ghp_${drawn(ALNUM, 36)}`;
    expect(decision.redactText(`TOKEN=$(printf ${token}; pwned)`)).toBe(
      "TOKEN=$(printf [REDACTED_GITHUB_TOKEN]; pwned)",
    );
    expect(decision.redactText(`curl -H "Authorization: Bearer ${jwt({ sub: "1" })}" x | sh`)).toBe(
      'curl -H "Authorization: Bearer [REDACTED_JWT]" x | sh',
    );
    const basic = Buffer.from("user:hunter2").toString("base64");
    expect(decision.redactText(`curl -H "Authorization: Basic ${basic}" x`)).not.toContain(basic);
    expect(decision.redactText(`curl -H "Authorization: Bearer ${key}" x`)).not.toContain(key);
  });

  it("hides the lines of a private key and leaves what is around them", () => {
    const line = drawn(ALNUM, 64);
    const pem = [pemLabel("BEGIN", ""), line, line, drawn(ALNUM, 20), pemLabel("END", "")].join("\n");
    const shown = decision.redactText(`cat > k <<E\n${pem}\nE\npwned`);
    expect(shown).not.toContain(line.slice(0, 8));
    expect(shown).toMatch(/^cat > k <<E\n-----BEGIN .*\[REDACTED_PRIVATE_KEY\]\n.*\nE\npwned$/s);
    expect(decision.redactText(JSON.stringify({ pem }))).not.toContain(line.slice(0, 8));
  });

  it("does not make an address read as another host", () => {
    expect(decision.redactText("curl https://evil.example:000443/x@good.example/")).toBe(
      "curl https://evil.example:000443/[REDACTED_EMAIL]/",
    );
    expect(decision.redactText("https://evil.example:pw?@good.example")).toContain("pw?");
  });

  it("loses no name that stands twice in a JSON text", () => {
    const text = '{"run":"evil","run":"fine","password":"hunter2"}';
    expect(decision.redactText(text)).toBe('{"run":"evil","run":"fine","password":"[REDACTED]"}');
  });

  it("takes time in proportion to its length", { timeout: 60_000 }, () => {
    for (const { against, text } of ADVERSARIES) {
      const given = text(2 ** 18);
      const before = process.threadCpuUsage();
      decision.redactText(given);
      // Up to 50 ms; what is not linear takes minutes.
      expect(process.threadCpuUsage(before).user / 1_000, against).toBeLessThan(20_000);
    }
  });
});

describe("values for a person who decides [FR-APR-01]", () => {
  it("hide what a secret field holds, unless it could run", () => {
    const shown = {
      token: "$(pwned)",
      secret: "a;b",
      env: { API_KEY: "`pwned`", OTHER_KEY: 1 },
      headers: [{ name: "Authorization", value: "a\npwned" }],
    };
    const given = {
      password: "correct horse",
      credentials: { password: "p" },
      secrets: { run: "x | y", pin: "p" },
    };
    expect(decision.redact({ ...shown, ...given })).toEqual({
      ...shown,
      password: "[REDACTED]",
      credentials: "[REDACTED]",
      secrets: { run: "x | y", pin: "[REDACTED]" },
    });
  });

  it("show an argument after a flag that an option before it may have taken", () => {
    for (const shown of [
      ["sudo", "-p", "--password", "pwned"],
      ["tool", "--password", "$(pwned)"],
    ])
      expect(decision.redact(shown)).toEqual(shown);
    expect(decision.redact(["tool", "--password", "hunter2"])).toEqual(["tool", "--password", "[REDACTED]"]);
  });

  it("may be very large, deep or contain themselves", () => {
    const wide = { secret: Array.from({ length: 5_000 }, (_, at) => `v${at}`) };
    expect(Array.isArray((decision.redact(wide) as typeof wide).secret)).toBe(true);
    let deep: Parameters<typeof decision.redact>[0] = "$(pwned)";
    for (let level = 0; level < 5_000; level += 1) deep = { secret: deep };
    expect(decision.redact(deep)).toBeTypeOf("object");
    const own: Record<string, unknown> = { a: "`x`" };
    own.secret = own;
    expect(decision.redactLog(own)).toBeDefined();
  });

  it("never hide a sign that a shell would act on", () => {
    const names = fc.constantFrom("password", "API_KEY", "token", "x_secret", "Authorization", "Cookie");
    const signs = fc.constantFrom("$(pwned)", "`pwned`", ";pwned", "|pwned", "&pwned", "\npwned", "<(pwned)");
    const around = fc.string({
      unit: fc.constantFrom("a", "1", "-", "_", ".", "/", "=", ":", '"', "'", " "),
      maxLength: 6,
    });
    const joins = fc.constantFrom("=", ": ", ":", '="', "='", '": "', " = ", "==", "%3D");
    fc.assert(
      fc.property(names, joins, around, signs, around, (name, join, before, sign, after) => {
        const value = `${before}${sign}${after}`;
        for (const text of [`${name}${join}${value}`, `--${name} ${value}`, `x://u:${value}@h`]) {
          expect(decision.redactText(text)).toContain(sign);
          expect(JSON.stringify(decision.redact({ [name]: value, text }))).toContain("pwned");
        }
      }),
    );
  });
});

describe("values and text for the record", () => {
  it("hide a password that holds signs of a shell [L3P2-3]", () => {
    for (const password of ["p$(x)", "p&q", "p|q", "p(q)", "p`q`"]) {
      expect(redact({ password })).toEqual({ password: "[REDACTED]" });
      expect(redactText(`password="${password}" x`)).toBe('password="[REDACTED]" x');
      expect(redactText(`postgres://u:${password.replaceAll("`", "")}@h`)).toBe(
        "postgres://u:[REDACTED_PASSWORD]@h",
      );
    }
  });
});
