import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import type { CallReader, Store } from "@sallyport/engine/ports";
import { applied, opening, sampleCall, sampleIntent } from "@sallyport/engine/testing";
import { failure } from "@sallyport/protocol";
import { describe, expect, it } from "vitest";
import type { CallOutline, OutlineReader } from "../store-rows/outlines.ts";
import { inFolder } from "./fixtures/run-process.ts";
import { DATABASE_FILE, openSqliteStore } from "./index.ts";

function hasOutlines(calls: CallReader): calls is CallReader & OutlineReader {
  return "outlines" in calls;
}

async function outlines({ calls }: Store): Promise<CallOutline[]> {
  return hasOutlines(calls) ? await calls.outlines({ limit: 10 }) : [];
}

function failed() {
  const { closing, ...call } = sampleCall();
  if (closing?.answer.status !== "success") throw new Error("the sample has changed");
  const { result: _result, ...rest } = closing.answer;
  const answer = { ...rest, callId: call.callId, status: "error" as const, error: failure("E3107") };
  return { ...call, closing: { ...closing, status: "error" as const, answer } };
}

describe("outlines of calls", () => {
  it("say what whole calls say, newest first [L3-API-2]", () =>
    inFolder(async (folder) => {
      await using closing = new AsyncDisposableStack();
      const store = await openSqliteStore({ folder });
      closing.defer(() => store.close());
      for (const call of [sampleCall(), failed(), sampleIntent({ phase: "waiting" })])
        await applied(store, opening(call));
      const whole = await store.calls.list({ limit: 10 });
      expect(await outlines(store)).toEqual(
        whole.map(
          ({
            callId,
            tenant,
            agent,
            user,
            session,
            tool,
            version,
            operation,
            startedAt,
            phase,
            closing,
          }) => ({
            ...{ callId, tenant, agent, user, session, tool, version, operation, startedAt, phase },
            closing: closing && {
              status: closing.status,
              closedAt: closing.closedAt,
              ...(closing.answer.status !== "success" && { errorCode: closing.answer.error.code }),
            },
          }),
        ),
      );
      expect((await outlines(store)).map(({ closing }) => closing?.errorCode)).toEqual([
        undefined,
        "E3107",
        undefined,
      ]);
    }));

  it("are made without looking into results", () =>
    inFolder(async (folder) => {
      const store = await openSqliteStore({ folder });
      const call = sampleCall();
      await applied(store, opening(call));
      await store.close();
      const database = new DatabaseSync(join(folder, DATABASE_FILE));
      database.exec("UPDATE tool_invocations SET answer = 'no JSON'");
      database.close();
      const again = await openSqliteStore({ folder, readOnly: true });
      expect(await outlines(again)).toMatchObject([{ callId: call.callId, closing: { status: "success" } }]);
      await expect(again.calls.list({ limit: 10 })).rejects.toThrow();
      await again.close();
    }));
});
