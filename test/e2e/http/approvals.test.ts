import { existsSync, readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import type { HttpAnswer } from "./fixtures/ask.ts";
import { TestServer } from "./fixtures/server.ts";
import { sharedServer } from "./fixtures/shared-server.ts";
import { SOON } from "./fixtures/soon.ts";

/** A payment that waits for a person: where the call and its approval are, and what it would write to. */
interface Question {
  call: string;
  approval: string;
  file: string;
}

let asked = 0;

/** Asks for a payment, which then waits. */
async function question(at: TestServer, amount = 40): Promise<Question> {
  asked += 1;
  const file = at.path(`payment-${asked}.txt`);
  const { status, body } = await at.invoke("payment", { file, amount });
  expect([status, body.status]).toEqual([202, "pending_approval"]);
  const call = `/v1/invocations/${body.invocation_id}`;
  const { approval_id } = (await at.ask({ path: call })).body;
  return { call, approval: `/v1/approvals/${approval_id}`, file };
}

/** What was paid: a line for each time the tool ran. */
function paid(file: string): string {
  return existsSync(file) ? readFileSync(file, "utf8") : "";
}

/** The answer of a call, once it has ended so. */
async function ends(at: TestServer, call: string, status: string): Promise<HttpAnswer> {
  await expect.poll(async () => (await at.ask({ path: call })).body.status, SOON).toBe(status);
  return await at.ask({ path: `${call}/result` });
}

function bearer(token: string): { authorization: string } {
  return { authorization: `Bearer ${token}` };
}

const LEVELS = `
approvals:
  levels:
    - { approvers: [ada, operator], timeoutHours: 1 }
    - { approvers: [bob], timeoutHours: 4 }
`;

const server = sharedServer(LEVELS, { withKeys: true });

async function tokenFor({ approval }: Question, body: object): Promise<string> {
  const { status, body: made } = await server().operator({ path: `${approval}/tokens`, body });
  expect(status).toBe(201);
  return made.token;
}

describe("an approval over HTTP", () => {
  it("is found by an operator, given, and the call runs by itself, once [L3-API-1]", async () => {
    const { call, approval, file } = await question(server());
    const waiting = await server().ask({ path: call });
    expect(waiting.body).toMatchObject({
      state: "WAITING",
      links: { approval: `${server().url}${approval}` },
    });
    const { body: listed } = await server().operator({ path: "/v1/approvals?state=pending" });
    expect(listed.approvals[0]).toMatchObject({
      summary: `Pay 40 out of ${file}`,
      risk: "high",
      because: "tool",
    });
    expect(paid(file)).toBe("");
    const { status, body } = await server().operator({
      path: `${approval}:approve`,
      body: { comment: "fine" },
    });
    expect([status, body.votes]).toMatchObject([200, [{ by: "operator", comment: "fine" }]]);
    const { body: answer } = await ends(server(), call, "success");
    expect(answer.result).toEqual({ paid: 40 });
    expect(paid(file)).toBe("40\n");
    const again = await server().operator({ method: "POST", path: `${approval}:approve` });
    expect([again.status, again.body.code]).toEqual([409, "E3222"]);
    expect(paid(file)).toBe("40\n");
  });

  it("is given once, when twenty people say yes at once", async () => {
    const { call, approval, file } = await question(server());
    const asking = { method: "POST", path: `${approval}:approve` };
    const answers = await Promise.all(Array.from({ length: 20 }, () => server().operator(asking)));
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200, 409]));
    await ends(server(), call, "success");
    expect(paid(file)).toBe("40\n");
  });

  it("is denied with a reason the caller is told, and nothing runs", async () => {
    const { call, approval, file } = await question(server());
    await server().operator({ path: `${approval}:deny`, body: { reason: "not this account" } });
    const { body } = await ends(server(), call, "permission_denied");
    expect(body.error).toMatchObject({ code: "permission_denied", details: { code: "E3214" } });
    expect(body.error.message).toContain("not this account");
    expect(paid(file)).toBe("");
  });

  it("is given to other arguments, which are checked like any", async () => {
    const { call, approval, file } = await question(server());
    const edit = (input: object) => server().operator({ path: `${approval}:edit`, body: { input } });
    const wrong = await edit({ file, amount: -1 });
    expect([wrong.status, wrong.body.code]).toEqual([400, "E3901"]);
    expect((await edit({ file, amount: 12 })).status).toBe(200);
    const { body } = await ends(server(), call, "success");
    expect(body.result).toEqual({ paid: 12 });
    expect(paid(file)).toBe("12\n");
  });

  it("does not count for something else than was seen", async () => {
    const { call, approval, file } = await question(server());
    const { status, body } = await server().operator({
      path: `${approval}:approve`,
      body: { digest: "0".repeat(64) },
    });
    expect([status, body.code]).toEqual([403, "E3216"]);
    expect((await server().ask({ path: call })).body.status).toBe("pending_approval");
    expect(paid(file)).toBe("");
  });

  it("is of no use for a call that was cancelled meanwhile", async () => {
    const { call, approval, file } = await question(server());
    expect((await server().ask({ method: "POST", path: `${call}:cancel` })).body.cancelled).toBe(true);
    await ends(server(), call, "cancelled");
    const late = await server().operator({ method: "POST", path: `${approval}:approve` });
    expect([late.status, late.body.code]).toEqual([409, "E3222"]);
    expect(paid(file)).toBe("");
  });

  it("is nobody's to see or give without a credential", async () => {
    const { approval } = await question(server());
    const asking = [
      { path: approval },
      { path: `${approval}:approve`, method: "POST" },
      { path: "/v1/approvals" },
    ];
    for (const one of asking)
      expect(await server().ask(one)).toMatchObject({
        status: 401,
        body: { code: "E3938", advice: expect.stringContaining("keys/operator.key in the state folder") },
      });
  });
});

describe("a token for one approval", () => {
  it("shows it and gives it, in its owner's name [L3-API-1]", async () => {
    const one = await question(server());
    const headers = bearer(await tokenFor(one, { approver: "ada" }));
    expect((await server().ask({ path: one.approval, headers })).body.state).toBe("pending");
    const { status, body } = await server().ask({ method: "POST", path: `${one.approval}:approve`, headers });
    expect([status, body.votes]).toMatchObject([200, [{ by: "ada", level: 1 }]]);
    await ends(server(), one.call, "success");
    expect(paid(one.file)).toBe("40\n");
  });

  it("is no good for another approval, another route, or calls from now on", async () => {
    const [mine, other] = [await question(server()), await question(server())];
    const headers = bearer(await tokenFor(mine, { approver: "ada" }));
    const refusals = [
      await server().ask({ path: other.approval, headers }),
      await server().ask({ method: "POST", path: `${other.approval}:approve`, headers }),
      await server().ask({ path: `${other.approval}:deny`, body: { reason: "mine" }, headers }),
      await server().ask({ path: "/v1/approvals", headers }),
      await server().ask({ path: `${mine.approval}/tokens`, body: { approver: "eve" }, headers }),
      await server().ask({ path: "/v1/audit", headers }),
      await server().ask({
        path: `${mine.approval}:approve`,
        body: { always: { arguments: "any" } },
        headers,
      }),
    ];
    expect(refusals.map(({ status, body }) => [status, body.code])).toEqual([
      [404, "E3221"],
      [404, "E3221"],
      [404, "E3221"],
      [403, "E3940"],
      [403, "E3940"],
      [403, "E3940"],
      [403, "E3226"],
    ]);
    expect([paid(mine.file), paid(other.file)]).toEqual(["", ""]);
  });

  it("does not count before its level is asked, nor for somebody who is not asked", async () => {
    const one = await question(server());
    const early = bearer(await tokenFor(one, { approver: "bob", level: 2 }));
    const stranger = bearer(await tokenFor(one, { approver: "eve" }));
    for (const headers of [early, stranger]) {
      const { status, body } = await server().ask({
        method: "POST",
        path: `${one.approval}:approve`,
        headers,
      });
      expect([status, body.code]).toEqual([403, "E3226"]);
    }
    expect(paid(one.file)).toBe("");
  });

  it("cannot be altered", async () => {
    const one = await question(server());
    const [head, payload, signature] = (await tokenFor(one, { approver: "ada" })).split(".");
    const claims = JSON.parse(Buffer.from(payload ?? "", "base64url").toString());
    const forged = Buffer.from(JSON.stringify({ ...claims, approver: "operator" })).toString("base64url");
    const headers = bearer(`${head}.${forged}.${signature}`);
    const { status } = await server().ask({ method: "POST", path: `${one.approval}:approve`, headers });
    expect(status).toBe(401);
  });
});

describe("a list that an operator asks for", () => {
  it("goes on only from a cursor that it gave", async () => {
    const { status, body } = await server().operator({ path: "/v1/approvals?cursor=zzz" });
    expect([status, body.issues]).toMatchObject([
      400,
      [{ path: "query/cursor", reason: "is not a cursor that this list gave" }],
    ]);
  });

  it("checks no audit chain that there is not", async () => {
    const { status, body } = await server().operator({ path: "/v1/audit:verify?tenant=typo" });
    expect([status, body.code]).toEqual([404, "E3917"]);
    const own = await server().operator({ path: "/v1/audit:verify?tenant=local" });
    expect([own.status, own.body.verified]).toEqual([200, true]);
  });
});

describe("an operator's session", () => {
  it("answers in the name it was opened for, and is over when it is ended", async () => {
    const { status, body } = await server().operator({ path: "/v1/sessions", body: { name: "ada" } });
    expect(status).toBe(201);
    const headers = bearer(body.token);
    const one = await question(server());
    const voted = await server().ask({ method: "POST", path: `${one.approval}:approve`, headers });
    expect(voted.body.votes).toMatchObject([{ by: "ada" }]);
    expect((await server().ask({ path: "/v1/sessions", body: {}, headers })).status).toBe(403);
    expect((await server().ask({ method: "DELETE", path: "/v1/sessions/current", headers })).status).toBe(
      204,
    );
    expect(await server().ask({ path: "/v1/approvals", headers })).toMatchObject({
      status: 401,
      body: { code: "E3939" },
    });
  });

  it("in a cookie changes something for the server's own pages only", async () => {
    const opened = await server().operator({ path: "/v1/sessions", body: { as: "cookie" } });
    const [set = ""] = opened.headers["set-cookie"] ?? [];
    expect(set).toMatch(/; HttpOnly; SameSite=Strict/);
    expect(opened.body.token).toBeUndefined();
    const cookie = set.split(";")[0] ?? "";
    const { approval } = await question(server());
    const deny = (headers: Record<string, string>) =>
      server().ask({ path: `${approval}:deny`, body: { reason: "no" }, headers: { cookie, ...headers } });
    expect((await server().ask({ path: approval, headers: { cookie } })).status).toBe(200);
    expect(await deny({})).toMatchObject({ status: 403, body: { code: "E3937" } });
    expect(await deny({ origin: "https://evil.example" })).toMatchObject({ status: 403 });
    expect((await deny({ origin: server().url })).status).toBe(200);
  });
});

describe("a question that outlives the server", () => {
  it.each(["stop", "kill"] as const)(
    "is answered afterwards, and the call runs by itself (%s)",
    async (how) => {
      await using restarted = await TestServer.open();
      const { call, approval, file } = await question(restarted);
      await restarted[how]();
      await restarted.start();
      expect((await restarted.ask({ path: call })).body.status).toBe("pending_approval");
      expect((await restarted.operator({ method: "POST", path: `${approval}:approve` })).status).toBe(200);
      await ends(restarted, call, "success");
      expect(paid(file)).toBe("40\n");
    },
  );
});
