import { mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { openOutput } from "../chat/keeping/index.ts";
import { ConfigFolder } from "../config/fixtures/config-folder.ts";
import { blobsName, openBlobs, probeBlobs } from "./blobs.ts";
import { hiddenPaths } from "./isolation.ts";

let folder: ConfigFolder;
beforeEach(() => {
  folder = new ConfigFolder();
});
afterEach(() => folder.remove());

const config = (yaml: string) => folder.write(yaml).config();
const KEYS = "accessKeyId: { env: NOT_SET_HERE }, secretAccessKey: { file: secret }";
const s3 = (endpoint: string) =>
  config(`blobs: { s3: { endpoint: '${endpoint}', bucket: archive, ${KEYS} } }`);

describe("the configured blobs", () => {
  it("are none when nothing is said, and a folder beside the file", async () => {
    expect(openBlobs(config(""))).toBeUndefined();
    const blobs = openBlobs(config("blobs: { folder: large }"));
    expect(readdirSync(folder.path)).toEqual(["sallyport.yaml"]);
    if (blobs) await probeBlobs(blobs);
    expect(await blobs?.list("")).toEqual({ blobs: [] });
    expect(readdirSync(folder.path)).toEqual(["large", "sallyport.yaml"]);
    expect(blobsName(config("blobs: { folder: large }"))).toBe(join(folder.path, "large"));
  });

  it("fail the probe where they cannot be used", async () => {
    mkdirSync(join(folder.path, "elsewhere"));
    mkdirSync(join(folder.path, "large"));
    symlinkSync("../elsewhere", join(folder.path, "large/probe"));
    const blobs = openBlobs(config("blobs: { folder: large }"));
    await expect(blobs && probeBlobs(blobs)).rejects.toMatchObject({ failure: { code: "E3949" } });
    expect(readdirSync(join(folder.path, "elsewhere"))).toEqual([]);
  });

  it("are a bucket over TLS, whose credentials are read when they are needed [D-16]", async () => {
    expect(() => s3("http://s3.example")).toThrow(/has no TLS/);
    expect(blobsName(s3("https://s3.example"))).toBe("bucket archive at s3.example");
    const blobs = openBlobs(s3("https://s3.example"));
    await expect(blobs?.get("a.txt")).rejects.toMatchObject({
      failure: { code: "E3301", message: expect.stringContaining("NOT_SET_HERE") },
    });
  });
});

it("no tool sees blobs and the files of their credentials", () => {
  expect(hiddenPaths(config("blobs: { folder: large }"))).toContain(join(folder.path, "large"));
  expect(hiddenPaths(s3("https://s3.example"))).toContain(join(folder.path, "secret"));
});

describe("long output", () => {
  it("is kept in the state folder, or in the blobs under a name that stays", async () => {
    const state = join(folder.path, ".sallyport");
    mkdirSync(state);
    writeFileSync(join(state, "conversations.db"), "not empty");
    const keep = (yaml: string) =>
      openOutput(config(yaml)).spill.keep({ conversationId: "c", callId: "call", text: "long" });
    await keep("");
    expect(readdirSync(state)).toEqual(["conversations.db", "output"]);
    const name = await keep("blobs: { folder: large }");
    const scope = readFileSync(join(state, "output-scope"), "utf8");
    expect(readdirSync(join(folder.path, "large/output"))).toEqual([scope]);
    expect(await openOutput(config("blobs: { folder: large }")).spill.read("c", name)).toBe("long");
  });
});
