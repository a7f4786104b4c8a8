import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { configKeys } from "./config-keys.ts";
import { readEnvironment, variableOf } from "./environment.ts";
import { ConfigFolder } from "./fixtures/config-folder.ts";

let folder: ConfigFolder;
beforeEach(() => {
  folder = new ConfigFolder();
});
afterEach(() => folder.remove());

describe("settings from the environment", () => {
  it.each([
    ["SALLYPORT__HTTP__PORT", "8080", ["http", "port"], 8080],
    ["sallyport__http__port", "8080", ["http", "port"], 8080],
    ["SALLYPORT__LIMITS__QUEUEDCALLS", "5", ["limits", "queuedCalls"], 5],
    ["SALLYPORT__LIMITS__QUEUED_CALLS", "5", ["limits", "queuedCalls"], 5],
    ["SALLYPORT__EVENTS", "false", ["events"], false],
    ["SALLYPORT__HTTP__ALLOWED_HOSTS", "[a.b, c]", ["http", "allowedHosts"], ["a.b", "c"]],
    ["SALLYPORT__HTTP", "{ port: 1, host: localhost }", ["http"], { port: 1, host: "localhost" }],
    ["SALLYPORT__CALLER__TENANT", "42", ["caller", "tenant"], "42"],
    ["SALLYPORT__CALLER__TENANT", '"a: b"', ["caller", "tenant"], "a: b"],
    ["SALLYPORT__HTTP__PUBLIC_URL", "https://a.b/#c", ["http", "publicUrl"], "https://a.b/#c"],
  ])("%s=%s", (variable, text, path, value) => {
    const { overrides, issues } = readEnvironment({ [variable]: text }, {});
    expect(issues).toEqual([]);
    expect(overrides).toEqual([{ path, value, origin: { kind: "environment", variable } }]);
  });

  it.each([
    ["SALLYPORT__HTTP__PROT", "1", /http has no key "prot"/, "did you mean SALLYPORT__HTTP__PORT?"],
    ["SALLYPORT__HTPP__PORT", "1", /no key "htpp"/, "did you mean SALLYPORT__HTTP__PORT?"],
    ["SALLYPORT__", "1", /no key ""/, expect.stringContaining("SALLYPORT__TOOL_LIMITS")],
    ["SALLYPORT__HTTP__PORT__X", "1", /expected a whole number .* in SALLYPORT__HTTP__PORT/, undefined],
    ["SALLYPORT__GRANTS__0__ID", "x", /expected a list in SALLYPORT__GRANTS/, undefined],
    ["SALLYPORT__HTTP__PORT", "", /set to nothing: expected a whole number/, "unset it for the default"],
    ["SALLYPORT__TOOLS", "[a", /is not YAML/, undefined],
    ["SALLYPORT__TOOLS", `[${"x".repeat(70_000)}]`, /more than 65536 characters/, undefined],
    ["SALLYPORT__CREDENTIALS__GIT__HOST", "x", /credentials has no key "git"/, /names in the file/],
  ])("stop the start when %s has no meaning (%#)", (variable, text, reason, suggestion) => {
    const [issue, ...others] = folder.issues({ environment: { [variable]: text } });
    expect(others).toEqual([]);
    expect(issue).toMatchObject({ path: variable, reason: expect.stringMatching(reason) });
    if (suggestion instanceof RegExp) expect(issue?.suggestion).toMatch(suggestion);
    else expect(issue?.suggestion).toEqual(suggestion);
  });

  it("are named when their value is wrong, and the file is when it is", () => {
    folder.write("http:\n  host: 5\n");
    const environment = { SALLYPORT__HTTP__PORT: "many", SALLYPORT__HTTP__TLS: "{ cert: a, kye: b }" };
    expect(folder.issues({ environment }).map(({ path, reason }) => [path, reason.split(":")[0]])).toEqual([
      ["sallyport.yaml:2:3", "http.host"],
      ["SALLYPORT__HTTP__PORT", "http.port"],
      ["SALLYPORT__HTTP__TLS", "http.tls.key is missing"],
      ["SALLYPORT__HTTP__TLS", 'unknown key "http.tls.kye"'],
    ]);
  });

  it("may not contradict each other, but a key counts more than the part it is in", () => {
    const twice = { SALLYPORT__HTTP__BODY_BYTES: "1", SALLYPORT__HTTP__BODYBYTES: "2" };
    expect(folder.issues({ environment: twice })[0]?.reason).toMatch(
      /sets http.bodyBytes, which .* sets too/,
    );
    const environment = { SALLYPORT__HTTP__PORT: "6", SALLYPORT__HTTP: "{ port: 5, host: localhost }" };
    expect(folder.config({ environment }).http).toMatchObject({ port: 6, host: "localhost" });
  });

  it("reach names of one's own choice that the file has", () => {
    folder.write("credentials: { git-Hub: { host: a, secret: { env: X } } }\n");
    const environment = { SALLYPORT__CREDENTIALS__GITHUB__HOST: "b" };
    expect(folder.config({ environment }).credentials["git-Hub"]?.host).toBe("b");
  });

  it("leave a file that is wrong as wrong as it is", () => {
    folder.write("http: 5\n");
    expect(folder.issues({ environment: { SALLYPORT__HTTP__PORT: "1" } })).toMatchObject([
      { path: "sallyport.yaml:1:1" },
    ]);
  });

  it("have other variables beside them that are none of ours", () => {
    const others = { SALLYPORT_TOKEN: "x", SALLYPORT: "y", PATH: "/bin", SALLYPORT__HTTP__PORT: undefined };
    expect(readEnvironment(others, {})).toEqual({ overrides: [], issues: [] });
  });

  it("are named for every key that has a place of its own", () => {
    const settable = configKeys().filter(({ path }) => path !== undefined);
    expect(settable.length).toBeGreaterThan(80);
    for (const { path = [], variable = "" } of settable) {
      expect(variable).toBe(variableOf(path));
      const { issues, overrides } = readEnvironment({ [variable]: '""' }, {});
      expect(issues, variable).toEqual([]);
      expect(overrides[0]?.path).toEqual(path);
    }
  });
});
