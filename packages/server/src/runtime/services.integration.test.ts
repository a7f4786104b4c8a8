import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import pg from "pg";
import { afterEach, beforeEach, expect, it } from "vitest";
import { reasonToSkip, startService } from "../../../../scripts/services.ts";
import { loadConfig } from "../config/load.ts";
import { toolModule } from "../reload/fixtures/reload-room.ts";
import { LogLines } from "../webhooks/fixtures/callback-rig.ts";
import { openRuntime } from "./runtime.ts";

const SOON = { timeout: 60_000, interval: 20 };
const CALLER = { tenant: "local", agent: "a" };

let folder: string;
let posts: string[];
let url: string;
const receiver = createServer((request, response) => {
  let body = "";
  request.on("data", (chunk) => {
    body += chunk;
  });
  request.on("end", () => {
    posts.push(body);
    response.writeHead(204).end();
  });
});

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), "sallyport-services-"));
  posts = [];
  await new Promise<void>((done) => receiver.listen(0, "127.0.0.1", done));
  url = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/hook`;
  writeFileSync(join(folder, "teller.ts"), toolModule());
});

afterEach(async () => {
  await new Promise((done) => receiver.close(done));
  rmSync(folder, { recursive: true, force: true });
});

/** The configuration, with questions that expire after so long. */
function configured(timeoutHours: number) {
  writeFileSync(
    join(folder, "sallyport.yaml"),
    `tools: [teller.ts]
events: true
webhooks: { allowPrivate: true }
approvals: { levels: [{ approvers: ["*"], timeoutHours: ${timeoutHours} }] }
grants: [{ id: all, tools: [teller] }]
`,
  );
  return loadConfig({ cwd: folder });
}

it("a runtime without a door runs what is queued, posts callbacks, publishes events and expires approvals", async () => {
  const ask = {
    tool: "teller",
    input: {},
    caller: CALLER,
    requireApproval: true,
    onApproval: "pending",
  } as const;
  const caller = await openRuntime({ config: configured(1) });
  const { callId } = await caller.engine.accept({ ...ask, callbackUrl: url });
  await caller.close();
  // A one-shot command, as `sallyport approvals approve` is: it records the answer and runs nothing.
  const approver = await openRuntime({ config: configured(1) });
  const [question] = await approver.engine.approvals.list({ states: ["pending"], limit: 2 });
  await approver.engine.approvals.approve(question?.approvalId ?? "", {
    by: "ada",
    digest: question?.digest ?? "",
  });
  await approver.close();

  const log = { info: () => undefined, warn: () => undefined };
  const config = configured(0.0001);
  const runtime = await openRuntime({ config });
  try {
    const { calls, approvals } = runtime.store;
    expect((await calls.get(callId))?.phase).toBe("waiting");
    await runtime.startServices({ log, everyMs: { "expire approvals": 50 } });
    await expect.poll(async () => (await calls.get(callId))?.phase, SOON).toBe("closed");
    await expect.poll(() => posts.map((body) => JSON.parse(body).status), SOON).toEqual(["success"]);
    const published = () => readFileSync(join(config.stateFolder, "events.jsonl"), "utf8");
    await expect.poll(published, SOON).toContain("ai.agent.tool.succeeded");
    const forgotten = await runtime.engine.call(ask);
    const expired = async () => (await approvals.get(forgotten.approval?.approvalId ?? ""))?.standing.state;
    await expect.poll(expired, SOON).toBe("expired");
  } finally {
    await runtime.close();
  }
});

const noServer = reasonToSkip("postgres");

it.skipIf(noServer !== undefined)(
  `a server moves old months of the audit record to the blobs${noServer ? ` (${noServer})` : ""}`,
  async () => {
    await using server = await startService("postgres");
    const url = `postgres://sallyport@127.0.0.1:${server.port}/postgres`;
    writeFileSync(
      join(folder, "sallyport.yaml"),
      `tools: [teller.ts]
store: { postgres: { url: "${url}" } }
blobs: { folder: blobs }
grants: [{ id: all, tools: [teller] }]
`,
    );
    const runtime = await openRuntime({ config: loadConfig({ cwd: folder }) });
    await runtime.engine.call({ tool: "teller", input: {}, caller: CALLER });
    const client = new pg.Client({ connectionString: url });
    await client.connect();
    await client.query(`SET search_path TO sallyport;
      CREATE TABLE audit_2020_01 PARTITION OF audit FOR VALUES FROM ('2020-01-01 00:00+00') TO ('2020-02-01 00:00+00');
      UPDATE audit SET written_at = '2020-01-15'`);
    await client.end();
    await runtime.startServices({ log: new LogLines(), everyMs: { "archive audit": 50 } });
    const audit = join(folder, "blobs", "audit");
    await expect
      .poll(() => existsSync(audit) && readdirSync(audit), SOON)
      .toEqual([expect.stringMatching(/^2020-01-[0-9a-f]{24}\.ndjson\.gz$/)]);
    await expect.poll(() => runtime.store.audit.archived?.("local"), SOON).toHaveLength(1);
    await runtime.close();
  },
);
