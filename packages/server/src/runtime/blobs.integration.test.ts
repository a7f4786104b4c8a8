import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";

import { S3_ACCESS } from "../../../../scripts/service-table.ts";
import { reasonToSkip, type StartedService, startService } from "../../../../scripts/services.ts";

import { openOutput } from "../chat/keeping/index.ts";
import { ConfigFolder } from "../config/fixtures/config-folder.ts";
import { openBlobs, probeBlobs } from "./blobs.ts";

const reason = reasonToSkip("versitygw");
const { bucket, accessKeyId, secretAccessKey } = S3_ACCESS;

describe.skipIf(reason !== undefined)(`a configured bucket${reason ? ` (${reason})` : ""}`, () => {
  let server: StartedService;
  const machines: ConfigFolder[] = [];
  beforeAll(async () => {
    server = await startService("versitygw");
  });
  afterAll(async () => {
    for (const machine of machines) machine.remove();
    await server?.[Symbol.asyncDispose]();
  });

  /** A machine with a state folder and a conversation of its own. */
  function configOf(secret = secretAccessKey) {
    const machine = new ConfigFolder();
    machines.push(machine);
    for (const [file, text] of [
      ["key-id", accessKeyId],
      ["secret", secret],
    ] as const)
      writeFileSync(join(machine.path, file), `${text}\n`, { mode: 0o600 });
    mkdirSync(join(machine.path, ".sallyport"));
    writeFileSync(join(machine.path, ".sallyport/conversations.db"), "not empty");
    const keys = "accessKeyId: { file: key-id }, secretAccessKey: { file: secret }";
    const place = `endpoint: 'http://127.0.0.1:${server.port}', plainHttp: true, bucket: ${bucket}, prefix: Test/`;
    return machine.write(`blobs: { s3: { ${place}, ${keys} } }`).config();
  }

  it("passes the probe, leaves nothing there, and sees a changed credential at once", async () => {
    const config = configOf("wrong");
    const blobs = openBlobs(config);
    if (!blobs) throw new Error("no blobs");
    await expect(probeBlobs(blobs)).rejects.toMatchObject({ failure: { code: "E3949" } });
    writeFileSync(join(config.folder, "secret"), secretAccessKey);
    await probeBlobs(blobs);
    expect(await blobs.list("")).toEqual({ blobs: [] });
  });

  it("holds the long output of several machines, and none tidies up that of another", async () => {
    const [one, other] = [openOutput(configOf()), openOutput(configOf())];
    const names = [];
    for (const { spill } of [one, other])
      names.push(await spill.keep({ conversationId: "c", callId: "call", text: "long" }));
    const before = Date.now() + 86_400_000;
    expect(await one.keeping.removeOrphans({ conversationIds: [], before })).toEqual({ files: 1, bytes: 4 });
    expect(await one.spill.read("c", names[0] ?? "")).toBeUndefined();
    expect(await other.spill.read("c", names[1] ?? "")).toBe("long");
    expect(await other.keeping.sizeOf("c")).toEqual({ files: 1, bytes: 4 });
  });
});
