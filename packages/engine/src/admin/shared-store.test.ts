import { isFailure } from "@sallyport/protocol";
import { describe, expect, it, vi } from "vitest";
import { ConfiguredAuthority } from "../authorise/authority.ts";
import { GrantIndex, hmacSigner } from "../authorise/grant/index.ts";
import { keySetOf, mintToken, TokenChecker } from "../authorise/token/index.ts";
import { createMemoryStore } from "../memory/store.ts";
import type { Store } from "../ports/store.ts";
import { FaultyBus, type MessageFate } from "../testing/faulty-bus.ts";
import { errorOf, type FixtureTool, fixtureEngine, fixtureTool } from "../testing/fixture-engine.ts";
import { signingKey } from "../testing/samples.ts";

const SIGNER = hmacSigner(Buffer.alloc(32, 7));
const KEY = signingKey("k1");
const ORDER = { reason: "it reached outside", by: "olga" };
const RELEASE = { by: "olga", note: "harmless" };
const CAPABILITY = "filesystem.read";

const echo: FixtureTool = { id: "echo", run: (input) => input };
const reader: FixtureTool = {
  id: "reader",
  run: () => "read",
  conduct: { requiredCapabilities: [CAPABILITY] },
};

/** An engine with stored grants and tokens of its own, on a store and a bus that others use too. */
async function engineOn(store: Store, bus: FaultyBus, tools: FixtureTool[]) {
  const grantIndex = new GrantIndex(SIGNER);
  const keys = keySetOf([{ kid: "k1", publicKey: KEY.publicKey }]);
  if (isFailure(keys)) throw new Error(keys.message);
  const checker = new TokenChecker({ keys });
  const everything = { tenants: ["*"], agents: ["*"], tools: ["*"], operations: ["*"], capabilities: [] };
  const authority = new ConfiguredAuthority({
    grants: [{ id: "all", ...everything }],
    grantIndex,
    tokens: { checker, required: false },
  });
  const options = { store, bus, authority, grantIndex, signer: SIGNER, limits: { followMs: 5 } };
  return await fixtureEngine(options, tools);
}

function mint(): string {
  const name = {
    jti: "t1",
    issuer: "sallyport",
    tool: "slow",
    versions: "*",
    agent: "agent",
    tenant: "acme",
  };
  const now = Date.now();
  return mintToken({ ...name, operations: ["execute"], issuedAt: now, expiresAt: now + 60_000 }, KEY);
}

/** Two engines with the same tools on one store. Without messages they look for changes themselves. */
async function pair(fate: MessageFate | ((n: number) => MessageFate), tools: FixtureTool[] = [echo, reader]) {
  let messages = 0;
  const fateOf = () => {
    messages += 1;
    return typeof fate === "function" ? fate(messages) : fate;
  };
  const store = createMemoryStore({ isShared: fate === "lost" || typeof fate === "function" });
  const bus = new FaultyBus(fateOf);
  const here = await engineOn(store, bus, tools);
  const there = await engineOn(store, bus, tools);
  const close = async () => void (await Promise.all([here.engine.close(), there.engine.close()]));
  /** Waits until it holds, while delayed messages come in the wrong order. */
  const until = (holds: () => unknown) =>
    vi.waitFor(
      async () => {
        bus.release();
        await holds();
      },
      { timeout: 30_000, interval: 2 },
    );
  return { store, bus, here, there, close, until };
}

const FATES: [string, MessageFate | ((n: number) => MessageFate)][] = [
  ["come", "told"],
  ["are lost", "lost"],
  ["come twice", "repeated"],
  ["come late and in the wrong order", "delayed"],
  ["are lost, doubled or late in turn", (n) => (["lost", "repeated", "delayed"] as const)[n % 3] ?? "lost"],
];

describe.each(FATES)("two engines on one store whose messages %s [L3P2-4]", (_, fate) => {
  it("know the tools that the other registers, and what becomes of them", async () => {
    const { here, there, close, until } = await pair(fate);
    const { manifest } = fixtureTool({ id: "new", run: () => 1 });
    await here.engine.tools.register(manifest);
    await until(() => expect(there.engine.tools.list().map((tool) => tool.manifest.id)).toContain("new"));
    await here.engine.tools.quarantine("echo", "1.0.0", ORDER);
    await until(async () => expect(errorOf(await there.call("echo", {})).code).toBe("E3219"));
    await there.engine.tools.release("echo", "1.0.0", RELEASE);
    await until(async () => expect((await here.call("echo", {})).status).toBe("success"));
    await there.engine.tools.deprecate("echo", "1.0.0", { guidance: "Use another." });
    const echoHere = () => here.engine.tools.list().find((tool) => tool.manifest.id === "echo");
    await until(() => expect(echoHere()?.retirement.guidance).toBe("Use another."));
    await close();
  });

  it("know the grants that the other gives and takes back", async () => {
    const { here, there, close, until } = await pair(fate);
    expect((await there.call("reader", {})).status).not.toBe("success");
    const grantor = { id: "olga", operator: true };
    const grantee = { type: "TOOL" as const, id: "reader" };
    const grant = await here.engine.grants.issue({
      tenant: "acme",
      capabilityId: CAPABILITY,
      grantee,
      grantor,
    });
    if (isFailure(grant)) throw new Error(grant.message);
    await until(async () => expect((await there.call("reader", {})).status).toBe("success"));
    await here.engine.grants.revoke(grant.grantId, { by: "olga", reason: "over" });
    await until(async () => expect((await there.call("reader", {})).status).not.toBe("success"));
    await close();
  });

  it("end the calls whose token the other revokes, and take it no more [L3-PRM-1]", async () => {
    const started = Promise.withResolvers<void>();
    const slow: FixtureTool = {
      id: "slow",
      run: (_input, { signal }) => {
        started.resolve();
        return new Promise((_resolve, reject) =>
          signal.addEventListener("abort", () => reject(signal.reason)),
        );
      },
    };
    const { here, there, bus, close, until } = await pair(fate, [slow]);
    const token = mint();
    const running = there.call("slow", {}, { token });
    await started.promise;
    await here.engine.revokeToken({ jti: "t1", by: "ada", reason: "leaked", forgetAt: Date.now() + 60_000 });
    bus.release();
    expect(errorOf(await running).code).toBe("E3217");
    await until(async () => expect(errorOf(await there.call("slow", {}, { token })).code).toBe("E3208"));
    await close();
  });
});
