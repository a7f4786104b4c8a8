import type { ApprovalPass } from "@sallyport/engine/host";
import { sampleApproval } from "@sallyport/engine/testing";
import { describe, expect, it } from "vitest";
import { isWebChannel, noticeBody, noticeId } from "./notice.ts";

const AT = Date.UTC(2026, 0, 1);
const HOUR_MS = 3_600_000;
const URL = "https://chat.example/hook";

function record(approvers: string[]) {
  const level = (number: number) => ({
    level: number,
    approvers,
    timeoutMs: number * HOUR_MS,
    channels: [URL],
  });
  return sampleApproval({
    approvalId: "approval-1",
    callId: "call-1",
    createdAt: AT,
    expiresAt: AT + 3 * HOUR_MS,
    levels: [level(1), level(2)],
  });
}

function bodyFor(
  approvers: string[],
  { level = 1, mint }: { level?: number; mint?: (pass: ApprovalPass) => string } = {},
) {
  const approval = record(approvers);
  const notice = { approvalId: approval.approvalId, level, url: URL };
  const style = { publicUrl: "https://runtime.example/", ...(mint && { mint }) };
  return JSON.parse(noticeBody(approval, notice, style)) as Record<string, unknown>;
}

const mint = ({ approver, level }: ApprovalPass) => `pass of ${approver} at ${level}`;

describe("a notice", () => {
  it("says what is asked, until when, and where to answer", () => {
    const approval = record(["ada"]);
    expect(bodyFor(["ada"])).toMatchObject({
      type: "approval.requested",
      invocation_id: approval.callId,
      tool_id: approval.tool,
      summary: approval.summary,
      risk: approval.risk,
      level: 1,
      level_ends_at: "2026-01-01T01:00:00.000Z",
      expires_at: "2026-01-01T03:00:00.000Z",
      approve_url: expect.stringMatching(/^https:\/\/runtime\.example\/v1\/approvals\/[^/]+:approve$/),
      deny_url: expect.stringMatching(/:deny$/),
    });
    expect(bodyFor(["ada"], { level: 2 })).toMatchObject({ level_ends_at: "2026-01-01T03:00:00.000Z" });
  });

  it("carries nothing of the arguments but the summary", () => {
    expect(bodyFor(["ada"])).not.toHaveProperty("input");
    expect(bodyFor(["ada"])).not.toHaveProperty("effects");
  });

  it("carries the pass of the one person asked, or one for each", () => {
    expect(bodyFor(["ada"], { mint })).toMatchObject({ approver: "ada", token: "pass of ada at 1" });
    expect(bodyFor(["ada", "bob", "team-*"], { mint, level: 2 })).toMatchObject({
      tokens: [
        { approver: "ada", token: "pass of ada at 2" },
        { approver: "bob", token: "pass of bob at 2" },
      ],
    });
  });

  it("carries a pass for the channel itself where anybody may answer, and none where it cannot tell who", () => {
    expect(bodyFor(["*"], { mint })).toMatchObject({ approver: "channel:chat.example" });
    for (const body of [
      bodyFor(["team-*"], { mint }),
      bodyFor(["ada"]),
      bodyFor([record([]).agent], { mint }),
    ]) {
      expect(body).not.toHaveProperty("token");
      expect(body).not.toHaveProperty("tokens");
    }
  });

  it("has passes that last as long as the question, for nobody asked is un-asked", () => {
    const passes: ApprovalPass[] = [];
    bodyFor(["ada"], { mint: (pass) => `${passes.push(pass)}` });
    expect(passes).toMatchObject([{ approver: "ada", level: 1, expiresAt: AT + 3 * HOUR_MS }]);
  });

  it("has an id of its approval, level and channel", () => {
    expect(noticeId({ approvalId: "a.b", level: 2, url: URL })).toMatch(/^a~b-2-[0-9a-f]{8}$/);
    expect(noticeId({ approvalId: "a", level: 1, url: "x" })).not.toBe(
      noticeId({ approvalId: "a", level: 1, url: "y" }),
    );
  });
});

it.each([
  ["https://chat.example/x", true],
  ["HTTP://127.0.0.1/x", true],
  ["slack:#ops", false],
  ["ada@example.com", false],
  ["httpsomething", false],
])("%s is told by a POST: %s", (channel, is) => {
  expect(isWebChannel(channel)).toBe(is);
});
