import { generateKeyPairSync } from "node:crypto";
import { createMemoryStore, keySetOf, type MintClaims, mintToken, TokenChecker } from "@sallyport/engine";
import { mintApprovalToken } from "@sallyport/engine/host";
import type { Store } from "@sallyport/engine/ports";
import { type Failure, isFailure } from "@sallyport/protocol";
import { beforeEach, describe, expect, it } from "vitest";
import type { Principal } from "../principal.ts";
import { createGuard, type Guard, OperatorKeyCheck, SessionBook, type Shown, TokenReader } from "./index.ts";

const KEY = `spo_${"k".repeat(43)}`;
const NOW = 1_800_000_000_000;
const runtime = generateKeyPairSync("rsa", { modulusLength: 2048 });
const stranger = generateKeyPairSync("rsa", { modulusLength: 2048 });
const keys = must(
  keySetOf([{ kid: "runtime", publicKey: runtime.publicKey, issuers: ["sallyport", "l03-tool-execution"] }]),
);

function must<Value extends object>(value: Value | Failure): Value {
  if (isFailure(value)) throw new Error(value.message);
  return value;
}

const SHOWN: Shown = {
  authorization: undefined,
  cookie: undefined,
  address: "127.0.0.1",
  mayChange: false,
  fromOwnPage: false,
};

const CLAIMS: MintClaims = {
  jti: "j-1",
  issuer: "sallyport",
  tool: "math.*",
  versions: "^1.0.0",
  agent: "did:agent:7",
  tenant: "acme",
  operations: ["execute"],
  issuedAt: NOW - 1_000,
  expiresAt: NOW + 60_000,
};
const PASS = { approvalId: "ap-1", callId: "c-1", tool: "math.add", approver: "ana", level: 1 };

const tokenWith = (claims: Partial<MintClaims> = {}, privateKey = runtime.privateKey) =>
  mintToken({ ...CLAIMS, ...claims }, { kid: "runtime", privateKey });
const passWith = (expiresAt: number, privateKey = runtime.privateKey) =>
  mintApprovalToken({ ...PASS, expiresAt, issuedAt: NOW - 1_000 }, { kid: "runtime", privateKey });

let now: number;
let store: Store;
let sessions: SessionBook;
let checker: TokenChecker;
let guard: Guard;

beforeEach(() => {
  now = NOW;
  store = createMemoryStore();
  sessions = new SessionBook(store, { now: () => now });
  checker = new TokenChecker({ keys });
  guard = guardFor("token");
});

function guardFor(callers: "open" | "token"): Guard {
  const tokens = new TokenReader({ checker, approvalKeys: () => keys, now: () => now });
  return createGuard({
    callers,
    operator: new OperatorKeyCheck(KEY, store, { now: () => now }),
    sessions,
    tokens,
  });
}

const bearer = (text: string, shown: Partial<Shown> = {}) =>
  guard.identify({ ...SHOWN, authorization: `Bearer ${text}`, ...shown });
const cookie = (text: string, shown: Partial<Shown> = {}) =>
  guard.identify({ ...SHOWN, cookie: text, ...shown });

describe("who asks", () => {
  it("is anyone who shows nothing", async () => {
    expect(await guard.identify(SHOWN)).toEqual({ kind: "anyone" });
    expect(await cookie("theme=dark; lang=en")).toEqual({ kind: "anyone" });
  });

  it("is an operator by the key or a session of it", async () => {
    expect(await bearer(KEY)).toEqual({ kind: "operator", name: "operator" });
    const { token, session } = await sessions.open("ana");
    const ana = { kind: "operator", name: "ana", session: session.id };
    expect(await bearer(token)).toEqual(ana);
    expect(await cookie(`a=b; sallyport_session=${token}`)).toEqual(ana);
  });

  it("is an agent by a token, whatever that is good for [L3-PRM-1]", async () => {
    const token = tokenWith();
    for (const again of [1, 2]) {
      const found = await bearer(token);
      expect(found, `try ${again}`).toMatchObject({ kind: "agent", token });
      expect(found).toMatchObject({ claims: { agent: "did:agent:7", tenant: "acme", tool: "math.*" } });
    }
    expect(guard.recognise(token)).toMatchObject({ kind: "agent" });
  });

  it("is an approver by the token for an approval [L3-APR]", async () => {
    const pass = { ...PASS, expiresAt: NOW + 60_000 };
    expect(await bearer(passWith(NOW + 60_000))).toEqual({ kind: "approver", pass });
  });
});

describe("what somebody showed earlier", () => {
  const shownBy = async (text: string) => must(await bearer(text));

  it("holds no longer once its token is revoked, or expired [L3-PRM-1]", async () => {
    const [bob, eve] = [await shownBy(tokenWith()), await shownBy(tokenWith({ jti: "j-2" }))];
    expect(await Promise.all([guard.holds(bob), guard.holds(eve)])).toEqual([true, true]);
    checker.revoke("j-1");
    expect(await Promise.all([guard.holds(bob), guard.holds(eve)])).toEqual([false, true]);
    now += 10 * 60_000;
    expect(await guard.holds(eve)).toBe(false);
  });

  it("holds no longer once its session has ended", async () => {
    const { token, session } = await sessions.open("ana");
    const ana = await shownBy(token);
    expect(await guard.holds(ana)).toBe(true);
    await sessions.end(session.id);
    expect(await guard.holds(ana)).toBe(false);
    expect(await Promise.all([guard.holds(await shownBy(KEY)), guard.holds({ kind: "anyone" })])).toEqual([
      true,
      true,
    ]);
  });
});

describe("a credential that is no good is refused, never passed over", () => {
  it.each([
    ["another key", `spo_${"x".repeat(43)}`, "E3939"],
    ["a session that never was", `sps_${"x".repeat(43)}`, "E3939"],
    ["nonsense", "nonsense", "E3201"],
    ["a token with nothing in it", "eyJhbGciOiJSUzI1NiJ9.e30.AA", "E3201"],
    ["a stranger's token", tokenWith({}, stranger.privateKey), "E3201"],
    ["an expired token", tokenWith({ issuedAt: NOW - 120_000, expiresAt: NOW - 60_000 }), "E3202"],
    ["an issuer that is not trusted", tokenWith({ issuer: "evil" }), "E3201"],
    ["a stranger's approval token", passWith(NOW + 60_000, stranger.privateKey), "E3201"],
    ["an expired approval token", passWith(NOW - 1), "E3202"],
  ])("%s", async (_, text, code) => {
    expect(await bearer(text)).toMatchObject({ code });
  });

  it.each(["Basic YTpi", "Bearer", "Bearer  ", "Bearer a b", "", "Negotiate"])(
    "%j",
    async (authorization) => {
      expect(await guard.identify({ ...SHOWN, authorization })).toMatchObject({ code: "E3939" });
    },
  );

  it("a token once it is revoked, or over", async () => {
    const token = tokenWith();
    expect(await bearer(token)).toMatchObject({ kind: "agent" });
    now = NOW + 100_000;
    expect(await bearer(token)).toMatchObject({ code: "E3202" });
    now = NOW;
    checker.revoke("j-1");
    expect(await bearer(token)).toMatchObject({ code: "E3208" });
  });

  it("a token where there are no keys to check it with", async () => {
    const tokens = new TokenReader({});
    for (const token of [tokenWith(), passWith(NOW + 60_000)])
      expect(tokens.read(token)).toMatchObject({
        code: "E3201",
        message: expect.stringContaining("no keys"),
      });
  });

  it("a session once it is over", async () => {
    const { token, session } = await sessions.open("ana");
    now += sessions.lifeMs;
    expect(await bearer(token)).toMatchObject({ code: "E3939" });
    now = NOW;
    const second = await sessions.open("ana");
    await sessions.end(session.id);
    expect(await bearer(second.token)).toMatchObject({ kind: "operator" });
    await sessions.end(second.session.id);
    expect(await bearer(second.token)).toMatchObject({ code: "E3939" });
  });

  it("two session cookies", async () => {
    const { token } = await sessions.open("ana");
    expect(await cookie(`sallyport_session=x; sallyport_session=${token}`)).toMatchObject({ code: "E3939" });
  });
});

describe("a session cookie", () => {
  it("changes something only from the door's own pages", async () => {
    const text = `sallyport_session=${(await sessions.open("ana")).token}`;
    expect(await cookie(text, { mayChange: true })).toMatchObject({ code: "E3937" });
    expect(await cookie(text, { mayChange: true, fromOwnPage: true })).toMatchObject({ kind: "operator" });
  });

  it("stands behind a header", async () => {
    const text = `sallyport_session=${(await sessions.open("ana")).token}`;
    expect(await bearer(tokenWith(), { cookie: text })).toMatchObject({ kind: "agent" });
  });
});

describe("wrong operator keys", () => {
  const wrong = `spo_${"x".repeat(43)}`;
  const tryFrom = (address: string, key = wrong) => bearer(key, { address });

  it("are heard ten times, then one every six seconds, and the right one always", async () => {
    for (let count = 0; count < 10; count += 1)
      expect(await tryFrom("10.0.0.1")).toMatchObject({ code: "E3939" });
    expect(await tryFrom("10.0.0.1")).toMatchObject({ code: "E3941", details: { retryAfterMs: 6_000 } });
    expect(await tryFrom("10.0.0.1", KEY)).toMatchObject({ kind: "operator" });
    expect(await tryFrom("10.0.0.2", KEY)).toMatchObject({ kind: "operator" });
    now += 6_000;
    expect(await tryFrom("10.0.0.1", KEY)).toMatchObject({ kind: "operator" });
    expect(await tryFrom("10.0.0.1")).toMatchObject({ code: "E3939" });
    expect(await tryFrom("10.0.0.1")).toMatchObject({ code: "E3941" });
    now += 60_000;
    for (let count = 0; count < 10; count += 1)
      expect(await tryFrom("10.0.0.1")).toMatchObject({ code: "E3939" });
  });

  it("from one network of IPv6 count as one sender's", async () => {
    for (let count = 0; count < 10; count += 1) await tryFrom(`2001:db8:1:2::${count}`);
    expect(await tryFrom("2001:db8:1:2::ffff")).toMatchObject({ code: "E3941" });
    expect(await tryFrom("2001:db8:1:3::1")).toMatchObject({ code: "E3939" });
    for (let count = 0; count < 10; count += 1) await tryFrom(`2001:db8::${count}`);
    expect(await tryFrom("2001:db8::ffff:1")).toMatchObject({ code: "E3941" });
    expect(await tryFrom("::1")).toMatchObject({ code: "E3939" });
  });
});

describe("who may use which route", () => {
  const agent = async (): Promise<Principal> => must(await bearer(tokenWith()));
  const approver: Principal = { kind: "approver", pass: { ...PASS, expiresAt: NOW } };
  const operator: Principal = { kind: "operator", name: "operator" };
  const anyone: Principal = { kind: "anyone" };
  const codes = (callers: "open" | "token", principal: Principal) =>
    (["public", "caller", "operator", "approver"] as const).map(
      (access) => guardFor(callers).refuse(principal, access)?.code,
    );

  it("where each call needs a token", async () => {
    expect(codes("token", anyone)).toEqual([undefined, "E3938", "E3938", "E3938"]);
    expect(codes("token", await agent())).toEqual([undefined, undefined, "E3940", "E3940"]);
    expect(codes("token", approver)).toEqual([undefined, "E3940", "E3940", undefined]);
    expect(codes("token", operator)).toEqual([undefined, undefined, undefined, undefined]);
  });

  it("where whoever reaches the door may call", async () => {
    expect(codes("open", anyone)).toEqual([undefined, undefined, "E3938", "E3938"]);
    expect(codes("open", await agent())).toEqual([undefined, undefined, "E3940", "E3940"]);
    expect(codes("open", approver)).toEqual([undefined, undefined, "E3940", undefined]);
    expect(codes("open", operator)).toEqual([undefined, undefined, undefined, undefined]);
  });
});
