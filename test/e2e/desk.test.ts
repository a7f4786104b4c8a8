import { cpSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { Shell } from "./shell.ts";

const REFUNDS = fileURLToPath(new URL("../../examples/refunds", import.meta.url));
const CONFIG = `
tools: [${REFUNDS}/refunds.ts]
grants:
  - { id: agents-may-refund, tools: [refunds], capabilities: [state.read, state.write] }
policy: { files: [policy.yaml] }
`;

let shell: Shell;
let server: ReturnType<Shell["start"]>;

beforeAll(async () => {
  shell = new Shell(CONFIG);
  cpSync(`${REFUNDS}/policy.yaml`, shell.path("policy.yaml"));
  server = shell.start(["serve", "--port", "0", "--json"]);
  const open = new Promise<void>((resolve) => {
    let text = "";
    server.child.stdout?.on("data", (chunk: Buffer) => {
      text += chunk.toString();
      if (text.endsWith("}\n")) resolve();
    });
  });
  await Promise.race([open, server.done.then(({ stderr }) => Promise.reject(new Error(stderr)))]);
}, 180_000);

afterAll(async () => {
  server.child.kill("SIGTERM");
  await server.done;
  shell[Symbol.dispose]();
}, 180_000);

const refund = (amount: number, order = "A-1") => ["call", "refunds", JSON.stringify({ order, amount })];

interface Pending {
  invocation_id: string;
  approval: { approvalId: string };
}

describe("the command line beside a server that has the folder", () => {
  it("makes calls through it", async () => {
    const ran = await shell.run(refund(20));
    expect(ran).toMatchObject({ code: 0, stderr: expect.stringContaining("success") });
    expect(JSON.parse(ran.stdout)).toEqual({ order: "A-1", refunded: 20 });
    const bad = await shell.run(["call", "refunds", '{"order":1}']);
    expect(bad).toMatchObject({ code: 2, stderr: expect.stringContaining("E3901") });
  });

  it("answers what people are asked, runs it by the answer, and denies", async () => {
    const first = await shell.json<Pending>(refund(80, "B-1"));
    expect(first).toMatchObject({ status: "pending_approval", exitCode: 4 });
    const ran = await shell.run(["approvals", "approve", first.approval.approvalId, "--by", "ada", "--run"]);
    expect(ran.stderr).toContain("approved by ada");
    expect(JSON.parse(ran.stdout)).toEqual({ order: "B-1", refunded: 80 });
    const second = await shell.json<Pending>(refund(90));
    const { approvalId } = second.approval;
    expect(await shell.run(["approvals", "deny", approvalId, "--reason", "not ours"])).toMatchObject({
      code: 0,
    });
    expect(await shell.json(["calls", "resume", second.invocation_id])).toMatchObject({
      status: "permission_denied",
      exitCode: 3,
    });
    expect(await shell.run(["approvals", "approve", "unknown"])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("E3221"),
    });
  });

  it("gives and takes back grants, and keeps a tool from being called", async () => {
    const give = ["grants", "issue", "--capability", "filesystem.read", "--tool", "refunds", "--ttl", "1h"];
    const { grantId } = await shell.json<{ grantId: string }>(give);
    expect(await shell.json(["grants", "revoke", grantId, "--reason", "enough"])).toMatchObject({
      revoked: [grantId],
    });
    expect(await shell.run(["tools", "quarantine", "refunds", "--reason", "looks odd"])).toMatchObject({
      code: 0,
    });
    expect(await shell.json(refund(20))).toMatchObject({ status: "permission_denied", exitCode: 3 });
    expect(await shell.run(["tools", "release", "refunds", "--note", "it was not"])).toMatchObject({
      code: 0,
    });
    expect(await shell.json(refund(20))).toMatchObject({ status: "success" });
  });

  it("is told to stop the server for what cannot go through it", async () => {
    const added = await shell.run(["tools", "add", `${REFUNDS}/refunds.ts`]);
    expect(added).toMatchObject({ code: 70, stderr: expect.stringContaining("E3915") });
  });
});
