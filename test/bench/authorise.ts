import { generateKeyPairSync } from "node:crypto";
import { ConfiguredAuthority, compilePolicy, keySetOf, mintToken, TokenChecker } from "@sallyport/engine";
import type { AuthorityRequest } from "@sallyport/engine/ports";
import { isFailure } from "@sallyport/protocol";
import { type Contender, measure, median, type Reading } from "./measure.ts";

const RULES = 200;
const CALLS = 50_000;

/** Rules of every kind, most of them about other tools, as a grown policy has. */
function rules(): object[] {
  return Array.from({ length: RULES }, (_, index) => {
    const tool = index % 4 === 0 ? "bench.*" : `tool.${index}`;
    const id = `rule-${index}`;
    const amount = { "/amount": { above: 1_000 + index } };
    return {
      id,
      effect: index % 2 === 0 ? "deny" : "ask",
      reason: "for the benchmark",
      match: { tools: [tool], arguments: amount, agents: ["agent-*"], risk: ["low", "medium"] },
      examples: {
        match: [{ tool: tool.replace("*", "add"), agent: "agent-1", input: { amount: 5_000 } }],
        not: [{ tool: "none" }],
      },
    };
  });
}

/** Authorising one call as the passage does: the request put together, a cached token, the policy, the grants. */
export function authoriseContender(): Contender {
  const { privateKey, publicKey } = generateKeyPairSync("rsa", { modulusLength: 2048 });
  const keys = keySetOf([{ kid: "k", publicKey }]);
  const policy = compilePolicy({ version: 1, default: "allow", rules: rules() }, { name: "bench" });
  if (isFailure(keys) || isFailure(policy)) throw new Error("the benchmark's own policy or key is wrong");
  const now = Date.now();
  const caller = { tenant: "acme", agent: "agent-7" };
  const token = mintToken(
    {
      jti: "bench",
      issuer: "sallyport",
      tool: "bench.add",
      versions: "^1.0.0",
      ...caller,
      operations: ["execute"],
      issuedAt: now,
      expiresAt: now + 3_600_000,
    },
    { kid: "k", privateKey },
  );
  const grant = {
    id: "all",
    tenants: ["*"],
    agents: ["*"],
    tools: ["*"],
    operations: ["*"],
    capabilities: [],
  };
  const authority = new ConfiguredAuthority({
    grants: [grant],
    policies: [policy],
    tokens: { checker: new TokenChecker({ keys }), required: true },
  });
  const input = { a: 2, b: 3, amount: 10 };
  const call = () => {
    const request: AuthorityRequest = {
      caller: { ...caller },
      token,
      tool: "bench.add",
      version: "1.0.0",
      operation: "add",
      manifestHash: "",
      category: "computation",
      tags: [],
      source: "native",
      securityLevel: 0,
      permissions: { filesystem: [], network: [], credentials: [] },
      requiredCapabilities: [],
      sideEffects: "none",
      risk: "low",
      isolation: "LEVEL_0",
      input: structuredClone(input),
      at: Date.now(),
    };
    const decision = authority.decide(request);
    if (decision instanceof Promise || decision.outcome !== "allow") throw new Error("not allowed");
  };
  return { name: `authorise: cached token, ${RULES} rules`, call };
}

/** Prints how long a decision takes; the aim is a median of at most 25 µs. */
export async function printAuthorise(): Promise<void> {
  const contender = authoriseContender();
  const readings: Reading[] = [];
  for (let round = 0; round <= 3; round += 1) {
    const reading = await measure(contender, 1, CALLS);
    if (round > 0) readings.push(reading);
  }
  const p50 = median(readings, "p50Us").toFixed(1);
  console.log(
    `${contender.name}: p50 ${p50} µs, p99 ${median(readings, "p99Us").toFixed(1)} µs (aim: p50 ≤ 25)`,
  );
}

if (import.meta.main) await printAuthorise();
