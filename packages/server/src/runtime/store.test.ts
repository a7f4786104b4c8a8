import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { SallyportError } from "@sallyport/protocol";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { type LoadedConfig, readConfig } from "../config/load.ts";
import { takeFolder } from "./own-folder.ts";
import { openPersistence, storeName } from "./store.ts";

const SECRET = "postgres://sallyport:pa55word@127.0.0.1:1/db";
let folder: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "sallyport-store-"));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

function reading(yaml: string) {
  writeFileSync(join(folder, "sallyport.yaml"), yaml);
  return readConfig({ cwd: folder, environment: {} });
}

function config(yaml: string): LoadedConfig {
  const read = reading(yaml);
  if (!read.ok) throw new Error(JSON.stringify(read.issues));
  return read.config;
}

/** Why the store of this configuration cannot be opened. */
async function refusal(yaml: string) {
  const problem = await openPersistence(config(yaml)).catch((error: unknown) => error);
  if (!(problem instanceof SallyportError)) throw new Error(`It was not refused: ${problem}`);
  const { failure: failed } = problem;
  expect(JSON.stringify(failed)).not.toContain("pa55word");
  return failed;
}

describe("the store of a configuration", () => {
  it("is embedded when nothing else is said, and named in words", () => {
    expect(config("").store).toEqual({ leaseSeconds: 15 });
    expect(storeName(config("durability: process"))).toBe("SQLite in the state folder, durability process");
    const named = config(
      "store: { postgres: { url: 'postgres://ana@db.example:5433/calls', schema: blue } }",
    );
    expect(storeName(named)).toBe("PostgreSQL at db.example:5433, schema blue, shared with other processes");
    const secret = config("store: { postgres: { url: { env: DATABASE } } }");
    expect(storeName(secret)).toContain("the address in DATABASE, schema sallyport");
  });

  it.each([
    ["a password in the file", "url: 'postgres://ana:pa55word@db/calls'"],
    ["another database", "url: 'mysql://db/calls'"],
    ["no address", "schema: sallyport"],
    ["a schema that is no name", "url: 'postgres://db/calls', schema: 'a; drop'"],
    ["an unknown setting", "url: 'postgres://db/calls', ssl: true"],
  ])("is refused with %s", (_what, settings) => {
    const read = reading(`store: { postgres: { ${settings} } }`);
    expect(read.ok).toBe(false);
    if (!read.ok) expect(JSON.stringify(read.issues)).not.toContain("pa55word");
  });

  it("says where it looked for the address of the database, and nothing of what is there", async () => {
    const at = (reference: string) => `store: { postgres: { url: { ${reference} } } }`;
    expect(await refusal(at("env: SALLYPORT_NO_SUCH_VARIABLE"))).toMatchObject({
      code: "E3301",
      message: expect.stringContaining("SALLYPORT_NO_SUCH_VARIABLE"),
    });
    writeFileSync(join(folder, "open.url"), SECRET, { mode: 0o644 });
    expect(await refusal(at("file: open.url"))).toMatchObject({ code: "E3301" });
    writeFileSync(join(folder, "wrong.url"), `mysql${SECRET.slice(8)}`, { mode: 0o600 });
    expect(await refusal(at("file: wrong.url"))).toMatchObject({
      code: "E3301",
      message: expect.stringContaining("wrong.url"),
    });
  });
});

const TAKES = `
import { takeFolder } from ${JSON.stringify(new URL("./own-folder.ts", import.meta.url).href)};
const { path } = takeFolder(process.argv[1]);
process.stdout.write(path);
`;

describe("the folder of a process on a shared store", () => {
  const inAnother = (state: string) =>
    spawnSync(process.execPath, ["--input-type=module-typescript", "-e", TAKES, state], { encoding: "utf8" })
      .stdout;

  it("is the state folder, and one in it for each process beside", () => {
    const state = join(folder, "state");
    const first = takeFolder(state);
    expect(first.path).toBe(state);
    expect(statSync(state).mode & 0o777).toBe(0o700);
    expect(inAnother(state)).toBe(join(state, "beside", "1"));
    const second = takeFolder(state);
    expect(second.path).toBe(join(state, "beside", "1"));
    expect(() => takeFolder(state, { itself: true })).toThrow("in use by another process");
    second.release();
    first.release();
    expect(inAnother(state)).toBe(state);
  });
});
