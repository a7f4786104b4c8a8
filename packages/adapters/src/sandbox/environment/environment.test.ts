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
