import { describe, expect, it } from "vitest";
import { baseEnvironment, sanitiseEnvironment } from "./index.ts";

describe("a sanitised environment", () => {
  it("keeps what is harmless and loses what looks like a secret [FR-EXE-06]", () => {
    const secrets = {
      STRIPE_KEY: "1",
      GITHUB_TOKEN: "2",
      DB_PASSWORD: "3",
      CLIENT_SECRET: "4",
      AWS_PROFILE: "5",
      ANTHROPIC_API_KEY: "6",
      OPENAI_ORG: "7",
      github_token: "8",
    };
    expect(sanitiseEnvironment({ ...secrets, TZ: "UTC", KEYBOARD: "de" })).toEqual({
      TZ: "UTC",
      KEYBOARD: "de",
    });
  });

  it("loses a secret whatever stands around the word for it [FR-EXE-06]", () => {
    const names = [
      ...["TOKEN", "TOKENS", "ACCESS_TOKEN_2", "GHTOKEN", "TOKEN_FILE_CONTENT", "token"],
      ...[
        "SECRET",
        "SECRETS",
        "SECRET_VALUE",
        "MYSECRET",
        "PASSWORD",
        "DbPassword",
        "PGPASSWD",
        "PASSPHRASE",
      ],
      ...[
        "APIKEY",
        "MY_APIKEY_1",
        "APIKEYS",
        "PRIVATEKEY",
        "PRIVATE_KEY_PEM",
        "SSHPRIVATEKEY",
        "STRIPE_KEY_LIVE",
      ],
      ...["STRIPE_KEYS", "KEY", "ACCESSKEY", "SIGNINGKEY", "ENCRYPTIONKEY", "CREDENTIALS", "MYCREDENTIAL"],
      ...[
        "PASS",
        "DB_PASS_1",
        "DB_PWD",
        "MYSQL_PWD",
        "JWT",
        "AUTH_HEADER",
        "AUTHORIZATION",
        "SESSION_COOKIE",
      ],
      ...["SLACK_WEBHOOK", "WEBHOOK_URL", "CONNECTION_STRING", "SENTRY_DSN", "GITHUB_PAT", "SEED_PHRASE"],
    ];
    for (const name of names) expect(sanitiseEnvironment({ [name]: "x" }), name).toEqual({});
  });

  it("keeps names that only sound like one", () => {
    const harmless = {
      ...{ KEYBOARD: "de", KEYMAP: "us", MONKEY: "1", HOTKEY: "x", TOKENIZERS_PARALLELISM: "false" },
      ...{ COMPASS: "n", PASSENGER_APP_ENV: "x", BYPASS: "1", AUTHOR: "ada", GPU_PATH: "/x", PATH: "/bin" },
      ...{ LANG: "C", CI: "1", PWD: "/x", OLDPWD: "/y", XDG_SESSION_TYPE: "tty", PAT: "x", PATTERN: "y" },
    };
    expect(sanitiseEnvironment(harmless)).toEqual(harmless);
  });

  it("lets a denied name be harmless nowhere", () => {
    const env = { TOKENIZERS_PARALLELISM: "false" };
    expect(sanitiseEnvironment(env, { denylist: ["TOKENIZERS_*"] })).toEqual({});
    expect(sanitiseEnvironment({ TOKENIZERS_PARALLELISM: "https://u:p@h" })).toEqual({});
  });

  it("loses a value with a credential in it, whatever its name [FR-EXE-06]", () => {
    const values = [
      ...[
        "postgres://app:hunter2@db/x",
        "http://u:p@proxy:3128",
        "redis://:p@cache",
        "https://abc123@git.example/x",
      ],
      ...["a,amqp://u:p@mq,b", "POSTGRES://u:p@h", "u:p@proxy.example:3128", "mongodb+srv://u:p%40@h/?a=b"],
      ...["jdbc:postgresql://h/db?user=u&password=p", "Server=h;Password=p;", "git+https://u:a/b@h/x"],
      `x\n-----BEGIN RSA PRIVATE ${"KEY"}-----\n${"QUJD".repeat(16)}\n`,
    ];
    for (const value of values) expect(sanitiseEnvironment({ HARMLESS: value }), value).toEqual({});
  });

  it("keeps addresses and other values without one", () => {
    const harmless = {
      ...{
        HTTPS_PROXY: "http://proxy:3128",
        DATABASE_URL: "postgres://db/x",
        REPO: "git@github.com:a/b.git",
      },
      ...{
        REMOTE: "ssh://git@host/x",
        MAIL: "ada@example.com",
        SITE: "https://h/a@b?c=d@e",
        TIME: "10:30@noon",
      },
      ...{
        PATH: "/a:/b@2/bin:/c",
        LS_COLORS: "*.tar=01;31:*.key=00",
        EMPTY: "",
        SCOPE: "https://h:80/@scope/pkg",
      },
    };
    expect(sanitiseEnvironment(harmless)).toEqual(harmless);
  });

  it("takes time in proportion to the length of a value", () => {
    for (const part of ["a://", "://u:", "a:b", "password=", "@", "-----BEGIN "]) {
      const before = process.threadCpuUsage();
      sanitiseEnvironment({ LONG: part.repeat(100_000) });
      // A few milliseconds; what is not linear takes minutes.
      expect(process.threadCpuUsage(before).user / 1_000, part).toBeLessThan(20_000);
    }
  });

  it("loses what makes a loader or interpreter run something else", () => {
    const tricks = [
      "LD_PRELOAD",
      "NODE_OPTIONS",
      "BASH_ENV",
      "ENV",
      "PYTHONSTARTUP",
      "PERL5OPT",
      "GIT_SSH_COMMAND",
    ];
    expect(sanitiseEnvironment(Object.fromEntries(tricks.map((name) => [name, "x"])))).toEqual({});
    expect(sanitiseEnvironment({ "BASH_FUNC_ls%%": "() { id; }", "a b": "1", CUT: "a\0b" })).toEqual({});
  });

  it("takes more names, and none away", () => {
    const env = { MY_THING: "1", OTHER: "2", X_TOKEN: "3" };
    expect(sanitiseEnvironment(env, { denylist: ["MY_*"] })).toEqual({ OTHER: "2" });
    expect(sanitiseEnvironment(env, { denylist: [] })).toEqual({ MY_THING: "1", OTHER: "2" });
  });

  it("reads a pattern's other characters as they are", () => {
    expect(sanitiseEnvironment({ AxB: "1" }, { denylist: ["A.B", "(", "A+"] })).toEqual({ AxB: "1" });
  });

  it("can tell case apart", () => {
    expect(sanitiseEnvironment({ my_token: "1" }, { caseInsensitive: false })).toEqual({ my_token: "1" });
  });
});

describe("the base environment", () => {
  it("leads to no proxy without network", () => {
    expect(Object.keys(baseEnvironment({ egress: [] })).filter((name) => /proxy|cert/i.test(name))).toEqual(
      [],
    );
  });

  it("leads every client to the proxy inside", () => {
    expect(baseEnvironment({ egress: [{ host: "example.com" }] })).toMatchObject({
      HTTP_PROXY: "http://127.0.0.1:3128",
      https_proxy: "http://127.0.0.1:3128",
      ALL_PROXY: "socks5h://127.0.0.1:3128",
      NO_PROXY: "",
      NODE_USE_ENV_PROXY: "1",
    });
  });

  it("trusts the proxy's certificate only where it ends TLS", () => {
    const credential = { secret: "s", as: { basic: { user: "u" } } };
    const plain = baseEnvironment({ egress: [{ host: "example.com", credential }] });
    expect(plain.SSL_CERT_FILE).toBeUndefined();
    const intercepted = { host: "example.com", credential: { ...credential, intercept: true } };
    expect(baseEnvironment({ egress: [intercepted] })).toMatchObject({
      SSL_CERT_FILE: "/run/sallyport/ca.pem",
      NODE_EXTRA_CA_CERTS: "/run/sallyport/ca.pem",
      GIT_SSL_CAINFO: "/run/sallyport/ca.pem",
    });
  });
});
