import { rmSync } from "node:fs";
import { join } from "node:path";
import { SallyportError } from "@sallyport/protocol";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { ConfigFolder } from "./fixtures/config-folder.ts";
import { loadConfig } from "./load.ts";

let folder: ConfigFolder;
beforeEach(() => {
  folder = new ConfigFolder();
});
afterEach(() => folder.remove());

function refusal(load: () => unknown): unknown {
  try {
    return load();
  } catch (error) {
    return error instanceof SallyportError ? error.failure : error;
  }
}

const PORT_FLAG = { path: ["http", "port"], value: 3, origin: { kind: "flag", flag: "--port" } } as const;

describe("loading a configuration", () => {
  it("needs no file: everything has a default", () => {
    const config = folder.config();
    expect(config).toMatchObject({
      file: undefined,
      folder: folder.path,
      stateFolder: join(folder.path, ".sallyport"),
      grants: [],
      http: { host: "127.0.0.1", port: 7420, callers: "open", metrics: "open", shutdownSeconds: 30 },
      webhooks: { allowPrivate: false, attempts: 8, timeoutSeconds: 10 },
      limits: { queuedCalls: 10_000, concurrentCallsPerTool: 64, queueWaitSeconds: 10 },
      toolLimits: [],
    });
  });

  it.each(["", "# nothing yet\n", "---\n"])("takes a file that says nothing: %j", (text) => {
    expect(folder.write(text).config()).toMatchObject({ file: folder.file, http: { port: 7420 } });
  });

  it("counts the file more than defaults, the environment more than the file, flags most [L3P2-6]", () => {
    folder.write("http: { port: 1 }\n");
    const environment = { SALLYPORT__HTTP__PORT: "2" };
    expect(folder.config().http.port).toBe(1);
    expect(folder.config({ environment }).http.port).toBe(2);
    expect(folder.config({ environment, flags: [PORT_FLAG] }).http.port).toBe(3);
  });

  it("knows where each value comes from", () => {
    folder.write("http:\n  port: 1\n  host: localhost\n");
    const read = folder.read({ environment: { SALLYPORT__HTTP__PORT: "2" } });
    expect(read.originOf(["http", "port"])).toEqual({
      kind: "environment",
      variable: "SALLYPORT__HTTP__PORT",
    });
    expect(read.originOf(["http", "host"])).toEqual({ kind: "file", file: folder.file, line: 3, column: 3 });
    expect(read.originOf(["http", "callers"])).toEqual({ kind: "default" });
    expect(folder.read({ flags: [PORT_FLAG] }).originOf(["http", "port"])).toEqual(PORT_FLAG.origin);
  });

  it("cannot be changed by anybody, at any depth", () => {
    const config = folder.write("grants: [{ id: a, tools: [t] }]\n").config();
    expect(() => Object.assign(config.http, { port: 1 })).toThrow(TypeError);
    expect(() => config.grants[0]?.tools.push("every")).toThrow(TypeError);
    expect(Object.isFrozen(process.env)).toBe(false);
  });

  it("makes paths absolute that the door uses, and keeps those of the environment beside the file", () => {
    folder.write("http: { tls: { cert: a.pem, key: /etc/b.pem } }\n");
    const environment = { SALLYPORT__WEBHOOKS__SECRET: "{ file: hook.key }", SALLYPORT__STATE: "kept" };
    expect(folder.config({ environment })).toMatchObject({
      http: { tls: { cert: join(folder.path, "a.pem"), key: "/etc/b.pem" } },
      webhooks: { secret: { file: join(folder.path, "hook.key") } },
      stateFolder: join(folder.path, "kept"),
    });
    expect(folder.config({ stateDir: "/elsewhere", environment }).stateFolder).toBe("/elsewhere");
  });

  it("opens metrics only where nobody else can reach them and callers need no token, unless told otherwise", () => {
    const wide = "host: 0.0.0.0, callers: token";
    expect(folder.write(`http: { ${wide} }\n`).config().http.metrics).toBe("operator");
    expect(folder.write("http: { callers: token }\n").config().http.metrics).toBe("operator");
    expect(folder.write(`http: { ${wide}, metrics: open }\n`).config().http.metrics).toBe("open");
  });

  it("can be read again from where it came", () => {
    folder.write("http: { port: 1 }\n");
    const first = folder.config({ flags: [PORT_FLAG] });
    folder.write("http: { port: 9, host: localhost }\n");
    expect(loadConfig(first.place).http).toMatchObject({ port: 3, host: "localhost" });
  });

  it("refuses a file that was named and is not there, is no text, is too large, or is a folder", () => {
    expect(refusal(() => folder.read({ file: "none.yaml" }))).toMatchObject({
      code: "E3919",
      message: expect.stringContaining("none.yaml"),
      advice: expect.stringContaining("sallyport init"),
    });
    folder.write(new Uint8Array([0x61, 0x3a, 0x20, 0xff]));
    expect(refusal(() => folder.read())).toMatchObject({ message: expect.stringContaining("UTF-8") });
    folder.write(" ".repeat(1024 * 1024 + 1));
    expect(refusal(() => folder.read())).toMatchObject({ message: expect.stringContaining("larger") });
    rmSync(folder.file);
    expect(refusal(() => folder.read({ file: "." }))).toMatchObject({ code: "E3919" });
  });

  it("throws everything that is wrong at once", () => {
    folder.write("htpp: 1\nhttp:\n  port: x\n");
    expect(refusal(() => loadConfig({ cwd: folder.path, environment: {} }))).toMatchObject({
      code: "E3919",
      message: "The configuration is wrong in 2 places.",
      issues: [{ path: `${folder.file}:1:1` }, { path: `${folder.file}:3:3` }],
    });
  });
});
