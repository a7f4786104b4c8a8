import type { CallAnswer } from "@sallyport/protocol";
import { describe, expect, it } from "vitest";
import type { Span, Tracer } from "../ports/platform.ts";
import type { Confinement } from "../ports/runner.ts";
import { fixtureEngine } from "../testing/fixture-engine.ts";
import { CallSpan, withSandboxSpan } from "./call-span.ts";
import { RecordingTracer } from "./fixtures/recording-tracer.ts";

const CALL = { callId: "c1", tool: "sum" };
const TRACEPARENT = `00-${"1".repeat(32)}-${"2".repeat(16)}-01`;

async function answersOf(...tools: string[]): Promise<CallAnswer[]> {
  const broken = () => {
    throw new Error("no");
  };
  const { call, engine } = await fixtureEngine({}, [
    { id: "ok", run: () => 1 },
    { id: "bad", run: broken },
    { id: "asks", run: () => 1, conduct: { requiresApproval: true } },
  ]);
  const answers: CallAnswer[] = [];
  for (const tool of tools) answers.push(await call(tool, {}));
  await engine.close();
  return answers;
}

describe("the span of a call", () => {
  it("stands below the caller's and above its stages [L3P2-5]", () => {
    const tracer = new RecordingTracer();
    const span = new CallSpan(tracer, { ...CALL, trace: { traceparent: TRACEPARENT } });
    span.stage("resolve").end({ ok: true });
    const executing = span.stage("execute");
    span.open("external_api.call").end();
    executing.end({ ok: false, code: "E3907" });
    span.open("event.publish").end();
    expect(tracer.tree).toEqual([
      `${TRACEPARENT} > tool.invoke`,
      "tool.invoke > tool_registry.lookup",
      "tool.invoke > tool.execute",
      "tool.execute > external_api.call",
      "tool.invoke > event.publish",
    ]);
    expect(tracer.find("tool.execute")).toMatchObject({
      outcome: { ok: false, code: "E3907" },
      attributes: { error_code: "E3907" },
    });
  });

  it("hands on the context of the innermost span under way", () => {
    const tracer = new RecordingTracer();
    const span = new CallSpan(tracer, CALL);
    const idHandedOn = () => span.context()?.traceparent.split("-")[2];
    expect(idHandedOn()).toBe(tracer.find("tool.invoke").id);
    const stage = span.stage("execute");
    expect(idHandedOn()).toBe(tracer.find("tool.execute").id);
    stage.end();
    expect(idHandedOn()).toBe(tracer.find("tool.invoke").id);
  });

  it("says how the call ended, and nothing of what went in or came out [L3P2-5] [R1-8.3]", async () => {
    const tracer = new RecordingTracer();
    for (const answer of await answersOf("ok", "bad", "asks", "nothing")) {
      new CallSpan(tracer, { callId: answer.callId, tool: answer.tool }).end(answer);
    }
    const common = { invocation_id: expect.any(String), attempts: expect.any(Number), replayed: false };
    const [ok, bad, asks, nothing] = tracer.spans;
    expect(ok?.outcome).toEqual({ ok: true });
    expect(ok?.attributes).toEqual({ ...common, tool_id: "ok", tool_version: "1.0.0", status: "success" });
    expect(bad?.outcome).toEqual({ ok: false, code: "E3907" });
    expect(bad?.attributes).toMatchObject({ tool_id: "bad", status: "error", error_code: "E3907" });
    expect(asks?.outcome).toEqual({ ok: true });
    expect(asks?.attributes).toMatchObject({ status: "pending_approval" });
    expect(nothing?.outcome).toMatchObject({ ok: false });
  });

  it("ends well for a call that was only accepted", () => {
    const tracer = new RecordingTracer();
    const accepted = { callId: "c1", tool: "sum", version: "1.0.0", operation: "run", acceptedAt: 1 };
    new CallSpan(tracer, CALL).end({ ...accepted, status: "pending" });
    expect(tracer.find("tool.invoke")).toMatchObject({
      outcome: { ok: true },
      attributes: { tool_version: "1.0.0", status: "pending" },
      ended: 1,
    });
  });

  it.each(["start", "set", "end", "context"] as const)(
    "harms nobody when the tracer's %s throws",
    async (where) => {
      const [answer] = await answersOf("bad");
      const span = new CallSpan(tracerBrokenAt(where), CALL);
      const stage = span.stage("execute");
      span.open("sandbox.create").end();
      stage.end({ ok: false, code: "E3907" });
      expect(() => span.context()).not.toThrow();
      if (answer) span.end(answer);
    },
  );

  it("opens nothing below a span that could not be opened", () => {
    const tracer = new RecordingTracer();
    let starts = 0;
    const failingFirst: Tracer = {
      start(name, options) {
        starts += 1;
        if (starts === 1) throw new Error("no");
        return tracer.start(name, options);
      },
    };
    const span = new CallSpan(failingFirst, CALL);
    span.stage("execute").end();
    expect(span.context()).toBeUndefined();
    expect(tracer.spans).toEqual([]);
  });
});

describe("the span of a call that nobody keeps", () => {
  it("has none below it, and hands on its own context", () => {
    const tracer = new RecordingTracer();
    const unkept: Tracer = {
      start: (name, options) => ({ ...tracer.start(name, options), isRecorded: false }),
    };
    const span = new CallSpan(unkept, CALL);
    const stage = span.stage("execute");
    span.open("sandbox.create").end();
    expect(span.context()?.traceparent).toContain(tracer.find("tool.invoke").id);
    stage.end();
    expect(tracer.tree).toEqual(["tool.invoke"]);
  });
});

describe("the span of a sandbox", () => {
  const told: string[] = [];
  const confinement: Confinement = {
    level: "LEVEL_2",
    mounts: [],
    hidden: [],
    egress: [],
    limits: {
      wallMs: 1,
      memoryBytes: 1,
      outputBytes: 1,
      processes: 1,
      openFiles: 1,
      fileBytes: 1,
      diskBytes: 1,
      connections: 1,
    },
    cwd: "/",
    onEvent: (event) => void told.push(event),
  };

  it("lasts until the sandbox is there, below the stage that makes it [L3P2-5]", () => {
    const tracer = new RecordingTracer();
    const span = new CallSpan(tracer, CALL);
    const executing = span.stage("execute");
    const observed = withSandboxSpan(confinement, span);
    expect(tracer.find("sandbox.create")).toMatchObject({ parent: "tool.execute", ended: 0 });
    observed.onEvent?.("SANDBOX_CREATED");
    observed.onEvent?.("SANDBOX_DESTROYED");
    executing.end();
    expect(tracer.find("sandbox.create").ended).toBe(1);
    expect(told).toEqual(["SANDBOX_CREATED", "SANDBOX_DESTROYED"]);
  });

  it("is not made where nobody traces", () => {
    expect(withSandboxSpan(confinement, undefined)).toBe(confinement);
  });
});

function tracerBrokenAt(where: "start" | keyof Span): Tracer {
  const broken = () => {
    throw new Error("the tracer is broken");
  };
  const span: Span = { set: () => undefined, end: () => undefined, context: () => ({ traceparent: "" }) };
  if (where === "start") return { start: broken };
  return { start: () => ({ ...span, [where]: broken }) };
}
