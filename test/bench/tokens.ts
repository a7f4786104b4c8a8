import { generateKeyPairSync, type KeyObject, verify } from "node:crypto";
import { isFailure } from "@sallyport/protocol";
import {
  type KeySet,
  keySetOf,
  mintToken,
  TokenChecker,
  type TokenQuery,
  verifyToken,
} from "../../packages/engine/src/authorise/token/index.ts";

/** Microseconds a token, the best of several rounds that take turns: whatever disturbs only ever adds. */
export interface TokenReading {
  /** node:crypto alone, with everything decoded beforehand. */
  bareUs: number;
  /** Form, header, signature and payload of a token. */
  verifyUs: number;
  /** The same and every claim: what the first call with a token costs. */
  coldUs: number;
  /** The same token again, in a string of its own as a door would hand it over. */
  cachedUs: number;
}

type Contender = (token: string, index: number) => boolean;

const AT = Date.UTC(2026, 0, 1);
const TOKENS = 500;
const ROUNDS = Number(process.env.SALLYPORT_BENCH_ROUNDS ?? 3) * 5;
const QUERY: TokenQuery = {
  caller: { agent: "did:agent:0b5d8c8e-5f7b-4a3c-9d3a-2f1f4c1e9a77", tenant: "tenant_acme" },
  tool: "analyze_code",
  version: "2.3.4",
  at: AT,
};

/** Measures the checks of capability tokens, and bare node:crypto in the same run to compare them with. */
export function measureTokens(): TokenReading {
  const { publicKey, privateKey } = generateKeyPairSync("rsa", { modulusLength: 2048 });
  const keys = keySetOf([{ kid: "bench", publicKey }]);
  if (isFailure(keys)) throw new Error(keys.message);
  const tokens = Array.from({ length: TOKENS }, (_, index) => mint(`token-${index}`, privateKey));
  const [bareUs = 0, verifyUs = 0, coldUs = 0, cachedUs = 0] = takeTurns(tokens, [
    bare(tokens, publicKey),
    (token) => !isFailure(verifyToken(token, keys)),
    checking(keys, 0),
    checking(keys, TOKENS),
  ]);
  return { bareUs, verifyUs, coldUs, cachedUs };
}

/** Measures and prints; the ratios are what can be compared between machines. */
export function printTokens(): TokenReading {
  const reading = measureTokens();
  const row = (us: number) => ({ µs: us.toFixed(1), "× bare": (us / reading.bareUs).toFixed(2) });
  console.table({
    "bare node:crypto verify": row(reading.bareUs),
    "token verified": row(reading.verifyUs),
    "token checked, cold": row(reading.coldUs),
    "token checked, cached": row(reading.cachedUs),
  });
  return reading;
}

function bare(tokens: readonly string[], publicKey: KeyObject): Contender {
  const decoded = tokens.map((token) => {
    const end = token.lastIndexOf(".");
    return [Buffer.from(token.slice(0, end)), Buffer.from(token.slice(end + 1), "base64url")] as const;
  });
  return (_, index) => {
    const [signed, signature] = decoded[index] ?? [];
    return signed !== undefined && verify("RSA-SHA256", signed, publicKey, signature ?? signed);
  };
}

function checking(keys: KeySet, cacheSize: number): Contender {
  const checker = new TokenChecker({ keys, cacheSize });
  return (token) => !isFailure(checker.check(token, QUERY));
}

function takeTurns(tokens: readonly string[], contenders: readonly Contender[]): number[] {
  const best = contenders.map(() => Number.POSITIVE_INFINITY);
  for (let round = 0; round < ROUNDS; round += 1) {
    for (const [index, contender] of contenders.entries())
      best[index] = Math.min(best[index] ?? 0, timed(tokens, contender));
  }
  return best;
}

function timed(tokens: readonly string[], contender: Contender): number {
  // New strings each time: of one that was looked up before, the hash is known already.
  const copies = tokens.map((token) => Buffer.from(token).toString("latin1"));
  const began = performance.now();
  const passed = copies.every(contender);
  const us = ((performance.now() - began) * 1_000) / tokens.length;
  if (!passed) throw new Error("a token that has to pass did not");
  return us;
}

function mint(jti: string, privateKey: KeyObject): string {
  return mintToken(
    {
      jti,
      issuer: "l02-agent-runtime",
      tool: QUERY.tool,
      versions: "^2.0.0",
      ...QUERY.caller,
      operations: ["execute"],
      filesystem: { paths: ["/workspace/tool1"], mode: "rw" },
      network: { hosts: ["api.example.com"], ports: [443] },
      credentials: ["aws_s3_read", "external_api_token"],
      issuedAt: AT,
      expiresAt: AT + 900_000,
    },
    { kid: "bench", privateKey },
  );
}

if (process.argv[1] === import.meta.filename) printTokens();
