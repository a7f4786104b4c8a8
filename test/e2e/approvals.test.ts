import { cpSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { eventually } from "../fixtures/tmux-terminal/index.ts";
import { Shell } from "./shell.ts";

const REFUNDS = fileURLToPath(new URL("../../examples/refunds", import.meta.url));

/** The refunds example: up to 50 runs, up to 500 needs a person, more is denied. */
function refunds(more = ""): Shell {
  const shell = new Shell(`
tools: [${REFUNDS}/refunds.ts]
grants:
  - { id: agents-may-refund, tools: [refunds], capabilities: [state.read, state.write] }
policy: { files: [policy.yaml] }
${more}`);
  cpSync(`${REFUNDS}/policy.yaml`, shell.path("policy.yaml"));
  return shell;
}

const refund = (amount: number, ...more: string[]) => [
  "call",
  "refunds",
  JSON.stringify({ order: "A-1", amount }),
  ...more,
];

interface Pending {
  invocation_id: string;
  approval: { approvalId: string };
}

describe("a call that needs approval, at the command line", () => {
  it("is pending with exit code 4, approved, and run once [FR-APR-02] [FR-APR-03]", async () => {
    using shell = refunds();
    const pending = await shell.json<Pending>(refund(80));
    expect(pending).toMatchObject({ status: "pending_approval", exitCode: 4 });
    const id = pending.approval.approvalId;
    const listed = await shell.run(["approvals", "list"]);
    expect(listed.stdout).toContain("Refund 80 for order A-1");
    const ran = await shell.run(["approvals", "approve", id, "--by", "ada", "--run"]);
    expect(JSON.parse(ran.stdout)).toEqual({ order: "A-1", refunded: 80 });
    expect(ran.stderr).toContain("approved by ada");
    const again = await shell.json(["calls", "resume", pending.invocation_id]);
    expect(again).toMatchObject({ status: "success", replayed: true, exitCode: 0 });
    const twice = await shell.json(["approvals", "approve", id]);
    expect(twice).toMatchObject({ error: { code: "E3222" } });
    expect(await shell.json(["audit", "verify"])).toBeTruthy();
  });

  it("is denied with the person's reason, and can be edited instead", async () => {
    using shell = refunds();
    const first = await shell.json<Pending>(refund(80));
    const denied = await shell.run(["approvals", "deny", first.approval.approvalId, "--reason", "not ours"]);
    expect(denied.code).toBe(0);
    const answer = await shell.json(["calls", "resume", first.invocation_id]);
    expect(answer).toMatchObject({ status: "permission_denied", exitCode: 3 });
    const second = await shell.json<Pending>(refund(90));
    const id = second.approval.approvalId;
    const tooMuch = await shell.json(["approvals", "edit", id, '{"order":"A-1","amount":900}']);
    expect(tooMuch).toMatchObject({ error: { code: "E3225" }, exitCode: 3 });
    const invalid = await shell.json(["approvals", "edit", id, '{"amount":"x"}']);
    expect(invalid).toMatchObject({ error: { code: "E3901" }, exitCode: 2 });
    const edited = await shell.json(["approvals", "edit", id, '{"order":"A-1","amount":60}', "--run"]);
    expect(edited).toMatchObject({
      call: { status: "success", result: { refunded: 60 }, approval: { editedInput: { amount: 60 } } },
    });
  });

  it("waits for somebody else with --on-approval wait, while they can write to the folder", async () => {
    using shell = refunds();
    const waiting = shell.start(refund(80, "--on-approval", "wait"));
    const id = await eventually("the question", async () => {
      const [question] = await shell.json<{ approvalId: string }[]>(["approvals", "list"]);
      return question?.approvalId;
    });
    expect((await shell.run(["approvals", "approve", id])).code).toBe(0);
    const { code, stdout } = await waiting.done;
    expect(JSON.parse(stdout)).toEqual({ order: "A-1", refunded: 80 });
    expect(code).toBe(0);
  });

  it("stays pending when the one who waits is interrupted", async () => {
    using shell = refunds();
    const { child, done } = shell.start(refund(80, "--on-approval", "wait"));
    await new Promise<void>((resolve) => {
      child.stderr?.on("data", (chunk: Buffer) => {
        if (chunk.toString().includes("Waiting for approval")) resolve();
      });
    });
    child.kill("SIGINT");
    expect((await done).code).toBe(4);
    expect(await shell.json<unknown[]>(["approvals", "list"])).toHaveLength(1);
  });

  it("asks nobody with --on-approval deny", async () => {
    using shell = refunds();
    expect(await shell.json(refund(80, "--on-approval", "deny"))).toMatchObject({
      error: { details: { code: "E3211" } },
      exitCode: 3,
    });
    expect((await shell.run(["approvals", "list"])).stdout).toContain("Nothing waits for approval.");
  });

  it("is answered for good by an always allow that can be seen and revoked", async () => {
    using shell = refunds();
    const { approval } = await shell.json<Pending>(refund(80));
    await shell.run([
      "approvals",
      "approve",
      approval.approvalId,
      "--always",
      "exact",
      "--always-for",
      "1h",
      "--run",
    ]);
    expect((await shell.run(refund(80))).code).toBe(0);
    expect((await shell.run(refund(81))).code).toBe(4);
    const grants = await shell.json<{ grantId: string; kind: string; uses: number }[]>(["grants", "list"]);
    expect(grants).toMatchObject([{ kind: "standing" }]);
    expect(grants[0]?.uses).toBeGreaterThanOrEqual(1);
    expect((await shell.run(["grants", "revoke", grants[0]?.grantId ?? "", "--reason", "enough"])).code).toBe(
      0,
    );
    expect((await shell.run(refund(80))).code).toBe(4);
  });

  it("says which grant an always made, and refuses an always that is not one", async () => {
    using shell = refunds();
    const { approval } = await shell.json<Pending>(refund(80));
    const id = approval.approvalId;
    expect(await shell.json(["approvals", "approve", id, "--always-for", "1h"])).toMatchObject({
      error: { code: "E3921" },
      exitCode: 2,
    });
    for (const bad of ["", "   ", "x".repeat(2_000)]) {
      expect((await shell.run(["approvals", "approve", id, "--by", bad])).code).toBe(2);
    }
    const said = await shell.json(["approvals", "approve", id, "--always", "any", "--comment", "fine by me"]);
    expect(said).toMatchObject({ grantId: expect.any(String), exitCode: 0 });
    expect((await shell.run(["approvals", "show", id])).stdout).toContain("fine by me");
    expect((await shell.run(refund(120))).code).toBe(0);
  });

  it("does not get past a deny by any approval, and says what would be allowed", async () => {
    using shell = refunds();
    const { code, stderr } = await shell.run(refund(900));
    expect(code).toBe(3);
    expect(stderr).toContain("no-fortunes");
    expect(stderr).toContain("nearest allowed: An amount of up to 500");
  });

  it("refuses answers to questions there are none of, and people who may not answer", async () => {
    using shell = refunds("approvals: { levels: [{ approvers: [ada], timeoutHours: 1 }] }");
    expect(await shell.json(["approvals", "approve", "nosuch"])).toMatchObject({
      error: { code: "E3221" },
      exitCode: 2,
    });
    const { approval } = await shell.json<Pending>(refund(80));
    const eve = await shell.json(["approvals", "approve", approval.approvalId, "--by", "eve"]);
    expect(eve).toMatchObject({ error: { code: "E3226" }, exitCode: 3 });
    const own = await shell.json(["approvals", "approve", approval.approvalId, "--by", "cli"]);
    expect(own).toMatchObject({ error: { code: "E3226" } });
    expect(
      (await shell.run(["approvals", "approve", approval.approvalId, "--by", "ada", "--run"])).code,
    ).toBe(0);
  });
});

describe("token revoke", () => {
  it("keeps no damaged token as if it were a name", async () => {
    using shell = refunds();
    const damaged = ["eyJhbGciOiJub25lIn0", "eyJqdGkiOiJmb3JnZWQifQ", ""].join(".").slice(0, -5);
    for (const given of [damaged, "-"]) {
      const { code } = await shell.run(["token", "revoke", given, "--reason", "x"], { stdin: damaged });
      expect(code).not.toBe(0);
    }
    expect(await shell.json<unknown[]>(["token", "revoked"])).toEqual([]);
    expect((await shell.run(["token", "revoke", "agent.2026.01", "--reason", "x"])).code).toBe(0);
    expect(await shell.json(["token", "revoked"])).toMatchObject([{ jti: "agent.2026.01" }]);
  });
});

describe("a wrong rules file", () => {
  it("stops the start with file, line and the rule whose example is wrong", async () => {
    using shell = new Shell(`
tools: [${REFUNDS}/refunds.ts]
policy: { files: [${fileURLToPath(new URL("./fixtures/wrong-policy.yaml", import.meta.url))}] }
`);
    const { code, stderr } = await shell.run(refund(10));
    expect(code).toBe(2);
    expect(stderr).toMatch(/E3223/);
    expect(stderr).toMatch(/wrong-policy\.yaml:\d+/);
    expect(stderr).toContain("too-eager");
  });
});
