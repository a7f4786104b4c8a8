import { failure, SallyportError } from "@sallyport/protocol";
import { describe, expect, it } from "vitest";
import { RecordingTracer } from "../telemetry/fixtures/recording-tracer.ts";
import { CallSpan } from "../telemetry/index.ts";
import { spanNameOf } from "../telemetry/span-names.ts";
import type { House } from "./house.ts";
import { Passage } from "./passage.ts";
import { passage } from "./pipeline.ts";
import { Refused } from "./steps.ts";

const nowhere = {} as House;

interface Start {
  attempt: { span?: CallSpan };
}

function traced(tracer: RecordingTracer): Start {
  return { attempt: { span: new CallSpan(tracer, { callId: "c1", tool: "sum" }) } };
}

describe("a passage that is traced", () => {
  it("has a span for each stage, over before the next begins [L3P2-5]", async () => {
    const tracer = new RecordingTracer();
    const open: number[] = [];
    const look = (at: Start) => {
      open.push(tracer.spans.filter(({ name, ended }) => name !== "tool.invoke" && ended === 0).length);
      return at;
    };
    const two = Passage.from<Start>()
      .stage("resolve", look)
      .stage("validate", async (at: Start) => look(at));
    const start = traced(tracer);
    expect(await two.walk(start, nowhere)).toBe(start);
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
    const stopping = Passage.from<Start>().stage("resolve", () => new Refused(failure("E3001")));
    await stopping.walk(traced(tracer), nowhere);
    expect(tracer.find("tool_registry.lookup").outcome).toEqual({ ok: false, code: "E3001" });
  });

  it("ends the span of a stage that throws, and throws the same", async () => {
    const tracer = new RecordingTracer();
    const lost = new SallyportError(failure("E3914"));
    const throwing = Passage.from<Start>().stage("commit", () => {
      throw lost;
    });
    await expect(throwing.walk(traced(tracer), nowhere)).rejects.toBe(lost);
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
