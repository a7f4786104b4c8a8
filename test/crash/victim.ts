import { appendFileSync } from "node:fs";
import { openSqliteStore } from "@sallyport/adapters/sqlite";
import { createEngine, defineTool, grantAuthority } from "@sallyport/engine";
import type { Store, ToolContext, UnitOfWork } from "@sallyport/engine/ports";
import { type CallAnswer, isFailure, SallyportError } from "@sallyport/protocol";
import type { Death, Order, Plan, Report } from "./protocol.ts";
import { say } from "./say.ts";

/* A process with several calls under way that dies at a planned point. It reports through a pipe, synchronously: what
 * the harness has read has really happened before the death. */

const plan = JSON.parse(process.argv[2] ?? "{}") as Plan;
const { death } = plan;

function die(): never {
  process.kill(process.pid, "SIGKILL");
  // The signal is on its way; nothing more may happen until it lands.
  for (;;) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1_000);
}

/** True at the planned occurrence of this kind of point. */
function counter(kind: Death["kind"], when: "before" | "after"): () => void {
  let seen = 0;
  return () => {
    if (death.kind === kind && "nth" in death && death.when === when && ++seen === death.nth) die();
  };
}

/** A store that dies right before or after a write. */
function mortal(store: Store): Store {
  const [before, after] = [counter("at write", "before"), counter("at write", "after")];
  const commit = async (unit: UnitOfWork) => {
    before();
    const result = await store.commit(unit);
    after();
    return result;
  };
  return { ...readers(store), commit, close: () => store.close() };
}

function readers(store: Store): Omit<Store, "commit" | "close"> {
  const { commit: _commit, close: _close, ...readers } = store;
  return readers;
}

const ANYTHING = { $schema: "https://json-schema.org/draft/2020-12/schema" };
const [beforeEffect, afterEffect] = [counter("in tool", "before"), counter("in tool", "after")];

const common = { version: "1.0.0", description: "For the crash test." };

const payment = {
  ...common,
  sideEffects: "external" as const,
  operations: {
    run: {
      description: "writes a line",
      input: ANYTHING,
      output: ANYTHING,
      run: async (input: { key: string }, { callId }: ToolContext) => {
        await new Promise((resolve) => setImmediate(resolve));
        beforeEffect();
        appendFileSync(plan.witness, `${JSON.stringify({ key: input.key, callId })}\n`);
        afterEffect();
        return { paid: input.key };
      },
    },
  },
};

/** Changes the world outside: a line in a file, at once and for good. */
const pay = defineTool({ ...payment, id: "pay" });

/** Changes the world outside, when nobody waits for it any more. */
const later = defineTool({ ...payment, id: "later" });

/** Changes the world outside, and only after a person has agreed. */
const transfer = defineTool({ ...payment, id: "transfer", requiresApproval: true });

/** Changes transactional state only. */
const count = defineTool({
  ...common,
  id: "count",
  sideEffects: "state",
  requiredCapabilities: ["state.read", "state.write"],
  operations: {
    run: {
      description: "counts",
      input: ANYTHING,
      output: ANYTHING,
      run: async (input: { lane: string }, { state }: ToolContext) => {
        beforeEffect();
        const next = Number((await state.get(input.lane)) ?? 0) + 1;
        await state.put(input.lane, next);
        afterEffect();
        return { value: next };
      },
    },
  },
});

/** Changes nothing. */
const look = defineTool({
  ...common,
  id: "look",
  sideEffects: "none",
  requiredCapabilities: ["state.read"],
  operations: {
    run: {
      description: "looks",
      input: ANYTHING,
      output: ANYTHING,
      run: (input: { key: string }) => {
        beforeEffect();
        return { seen: input.key };
      },
    },
  },
});

const everything = {
  id: "all",
  tenants: ["*"],
  agents: ["*"],
  tools: ["*"],
  operations: ["*"],
  capabilities: ["state.read", "state.write"],
};
const store = await openSqliteStore({ folder: plan.folder, durability: plan.durability });
const engine = await createEngine({
  store: mortal(store),
  authority: grantAuthority([everything]),
  admission: { total: 100, perAgent: 100 },
});
const verdicts = await engine.recover();
for (const tool of [pay, later, transfer, count, look]) {
  const registered = await engine.tools.add(tool);
  if (isFailure(registered)) throw new SallyportError(registered);
}
await engine.claimQueued();
const unknown = verdicts.filter(({ verdict }) => verdict === "outcome_unknown").length;
say<Report>({ report: "ready", unknown, undone: verdicts.length - unknown });

/** Makes the call; where a person has to agree, one does, and the call is asked for again. */
async function agreedTo(call: () => Promise<CallAnswer>): Promise<CallAnswer> {
  const answer = await call();
  if (answer.status !== "pending_approval") return answer;
  const approvalId = answer.approval?.approvalId ?? "";
  const agreed = await engine.approvals.approve(approvalId, { by: "ada" });
  // After a crash somebody may have agreed already.
  if (isFailure(agreed) && agreed.code !== "E3222") throw new SallyportError(agreed);
  return await call();
}

async function make(order: Order): Promise<void> {
  say<Report>({ report: "sent", order });
  if (order.tool === "later") return await accept(order);
  const answer = await agreedTo(() =>
    engine.call({
      tool: order.tool,
      input: { key: order.key, lane: order.lane },
      idempotencyKey: order.key,
      caller: { tenant: "acme", agent: "victim" },
    }),
  );
  const succeeded = answer.status === "success";
  say<Report>({
    report: "answered",
    order,
    callId: answer.callId,
    status: answer.status,
    result: succeeded ? answer.result : undefined,
    code: succeeded ? undefined : answer.error.code,
    replayed: answer.replayed,
  });
}

async function accept(order: Order): Promise<void> {
  const end = await engine.accept({
    tool: order.tool,
    input: { key: order.key },
    idempotencyKey: order.key,
    caller: { tenant: "acme", agent: "victim" },
  });
  const isOver = end.status !== "pending" && end.status !== "running";
  const code = "error" in end ? end.error.code : undefined;
  // Of an earlier life: it has run, or nobody knows whether it has.
  if (isOver && end.status !== "success" && code !== "E3909" && code !== "E3107") throw new Error(code);
  say<Report>({ report: "accepted", order, callId: isOver && code === "E3909" ? "" : end.callId });
}

await Promise.all(plan.unanswered.map(make));
if (plan.death.kind === "of age") {
  for (let looks = 0; looks < 1_000 && engine.load().queued + engine.load().running > 0; looks += 1) {
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
  await engine.close();
  await store.close();
  process.exit(0);
}

const TOOLS = ["pay", "count", "later", "transfer", "look", "later", "transfer"] as const;
let next = plan.from;
const lanes = Array.from({ length: plan.lanes }, async (_, lane) => {
  for (;;) {
    const number = next++;
    await make({ key: `k${number}`, tool: TOOLS[number % TOOLS.length] ?? "pay", lane: `lane-${lane}` });
  }
});
await Promise.all(lanes);
