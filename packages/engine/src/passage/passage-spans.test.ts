import { failure, SallyportError } from "@sallyport/protocol";
import { describe, expect, it } from "vitest";
import type { EngineContext } from "../context.ts";
import type { Progress } from "../journal/progress.ts";
import { spanNameOf } from "../telemetry/call-span.ts";
import { RecordingTracer } from "../telemetry/fixtures/recording-tracer.ts";
import { CallSpan } from "../telemetry/index.ts";
import { Passage } from "./passage.ts";
import { passage } from "./pipeline.ts";
import { Refused } from "./steps.ts";

const nowhere = {} as EngineContext;

const start = {} as { progress: Progress };

function companion(tracer: RecordingTracer) {
  return { span: new CallSpan(tracer, { callId: "c1", tool: "sum" }) };
}

describe("a passage that is traced", () => {
  it("has a span for each stage, over before the next begins [L3P2-5]", async () => {
    const tracer = new RecordingTracer();
    const open: number[] = [];
    const look = (at: typeof start) => {
      open.push(tracer.spans.filter(({ name, ended }) => name !== "tool.invoke" && ended === 0).length);
      return at;
    };
    const two = Passage.from<typeof start>()
      .stage("resolve", look)
      .stage("validate", async (at: typeof start) => look(at));
    expect(await two.walk(start, nowhere, companion(tracer))).toBe(start);
    expect(tracer.tree).toEqual([
      "tool.invoke",
      "tool.invoke > tool_registry.lookup",
      "tool.invoke > input.validate",
    ]);
    expect(open).toEqual([1, 1]);
    expect(tracer.find("input.validate").outcome).toEqual({ ok: true });
  });

  it("says at which stage it stopped, and why", async () => {
    const tracer = new RecordingTracer();
    const stopping = Passage.from<typeof start>().stage(
      "resolve",
      () => new Refused(failure("E3001"), {} as Progress),
    );
    await stopping.walk(start, nowhere, companion(tracer));
    expect(tracer.find("tool_registry.lookup").outcome).toEqual({ ok: false, code: "E3001" });
  });

  it("ends the span of a stage that throws, and throws the same", async () => {
    const tracer = new RecordingTracer();
    const lost = new SallyportError(failure("E3914"));
    const throwing = Passage.from<typeof start>().stage("commit", () => {
      throw lost;
    });
    await expect(throwing.walk(start, nowhere, companion(tracer))).rejects.toBe(lost);
    expect(tracer.find("event.publish")).toMatchObject({ outcome: { ok: false, code: "E3914" }, ended: 1 });
  });

  it("knows every stage of the real passage under the name of the span tree [L3P2-5]", () => {
    expect(passage.stages.map(({ name }) => spanNameOf(name))).toEqual([
      "tool_registry.lookup",
      "input.validate",
      "permission.check",
      "approval.check",
      "admission.wait",
      "journal.intent",
      "tool.execute",
      "result.validate",
      "event.publish",
    ]);
  });
});
