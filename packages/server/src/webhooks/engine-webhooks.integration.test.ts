import { generateKeyPairSync } from "node:crypto";
import { createWebhookSender } from "@sallyport/adapters/webhook";
import {
  createEngine,
  createMemoryStore,
  DEFAULT_RULES,
  defineTool,
  grantAuthority,
  keySetOf,
  MemoryBus,
  systemClock,
} from "@sallyport/engine";
import { mintApprovalToken, readApprovalToken, tenantId } from "@sallyport/engine/host";
import { isFailure } from "@sallyport/protocol";
import { expect, it } from "vitest";
import { openApprovalNotices } from "./approval-notices.ts";
import { openCallbacks } from "./callbacks.ts";
import { LogLines } from "./fixtures/callback-rig.ts";
import { Receiver, SECRET } from "./fixtures/receiver.ts";

const WAIT = { timeout: 30_000, interval: 10 };
const CALLER = { tenant: "acme", agent: "agent-7" };
const $schema = "https://json-schema.org/draft/2020-12/schema";

const double = defineTool({
  id: "double",
  version: "1.0.0",
  description: "Doubles a number.",
  sideEffects: "none",
  input: { $schema, type: "object", properties: { n: { type: "number" } }, required: ["n"] },
  output: { $schema, type: "number" },
  run: ({ n }) => Number(n) * 2,
});

/** An engine in memory whose approvals are told at a URL, with everything that posts. */
async function openRuntime(channel: string) {
  const { publicKey, privateKey } = generateKeyPairSync("rsa", { modulusLength: 2048 });
  const [store, bus, clock, log] = [createMemoryStore(), new MemoryBus(), systemClock, new LogLines()];
  const level = { level: 1, approvers: ["ada"], timeoutMs: 60_000, channels: [channel] };
  const engine = await createEngine({
    store,
    bus,
    authority: grantAuthority([
      { id: "all", tenants: ["*"], agents: ["*"], tools: ["*"], operations: ["*"], capabilities: [] },
    ]),
    approvals: { ...DEFAULT_RULES, levels: [level] },
  });
  await engine.tools.add(double);
  const sender = createWebhookSender({ secret: SECRET, allowPrivate: true });
  const callbacks = openCallbacks({ store, instance: engine.instance, sender, clock, log, pollMs: 50 });
  const notices = openApprovalNotices({
    approvals: engine.approvals,
    store,
    bus,
    sender,
    clock,
    log,
    publicUrl: "https://runtime.example",
    mint: (pass) => mintApprovalToken({ ...pass, issuedAt: clock.now() }, { kid: "k", privateKey }),
  });
  return {
    engine,
    keys: keySetOf([{ kid: "k", publicKey }]),
    async [Symbol.asyncDispose]() {
      await callbacks.close();
      await notices.close();
      sender.close();
      await engine.close();
      await store.close();
    },
  };
}

it("an accepted call tells its caller how it ended [L3-API-1]", async () => {
  await using receiver = await Receiver.start();
  await using runtime = await openRuntime("nowhere");
  const order = { tool: "double", caller: CALLER, callbackUrl: receiver.url };
  const accepted = await runtime.engine.accept({ ...order, input: { n: 21 } });
  expect(["pending", "running"]).toContain(accepted.status);
  await expect
    .poll(() => receiver.told, WAIT)
    .toMatchObject([
      {
        id: tenantId(accepted.callId, CALLER.tenant),
        body: { invocation_id: accepted.callId, status: "success", result: 42 },
      },
    ]);
});

it("the pass in a notice answers the approval, and the answer ends the call its caller is told of", async () => {
  await using receiver = await Receiver.start();
  await using runtime = await openRuntime(receiver.url);
  const order = { tool: "double", caller: CALLER, callbackUrl: receiver.url, requireApproval: true };
  const asked = await runtime.engine.accept({ ...order, input: { n: 1 }, unattended: true });
  expect(asked.status).toBe("pending_approval");
  await expect.poll(() => receiver.told[0]?.body.type, WAIT).toBe("approval.requested");
  const token = String(receiver.told[0]?.body.token);
  if (isFailure(runtime.keys)) return expect.unreachable(runtime.keys.message);
  const pass = readApprovalToken(token, runtime.keys, systemClock.now());
  if (isFailure(pass)) return expect.unreachable(pass.message);
  const approved = await runtime.engine.approvals.approve(pass.approvalId, { by: pass.approver });
  expect(approved).toMatchObject({ standing: { state: "approved" } });
  await expect
    .poll(() => receiver.told[1], WAIT)
    .toMatchObject({
      id: tenantId(asked.callId, CALLER.tenant),
      body: { status: "success", result: 2 },
    });
});
