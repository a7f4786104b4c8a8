import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { type ObservedEngine, observedEngine, SECRET } from "./fixtures/observed-engine.ts";
import { OtlpReceiver } from "./fixtures/otlp-receiver.ts";
import { openTelemetry } from "./index.ts";

const TRACE_ID = "0af7651916cd43dd8448eb211c80319c";
const SPAN_ID = "b7ad6b7169203331";
const STAGES_OF_A_SUCCESS = [
  "tool_registry.lookup",
  "input.validate",
  "permission.check",
  "approval.check",
  "admission.wait",
  "journal.intent",
  "tool.execute",
  "result.validate",
  "event.publish",
];

const below = (stages: string[]) =>
  ["- > tool.invoke", ...stages.map((stage) => `tool.invoke > ${stage}`)].sort();

describe("spans over OTLP", () => {
  const receiver = new OtlpReceiver();
  let endpoint: string;

  beforeEach(async () => {
    receiver.spans.length = 0;
    receiver.bodies.length = 0;
    endpoint = await receiver.open();
  });
  afterEach(() => receiver.close());

  /** Does the work with an engine whose spans are all at the receiver afterwards. */
  async function traced<T>(work: (runtime: ObservedEngine) => Promise<T>, env: object = {}): Promise<T> {
    const telemetry = openTelemetry(
      { OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: `${endpoint}/v1/traces`, ...env },
      { instance: "one", version: "1.2.3" },
    );
    const runtime = await observedEngine(telemetry);
    const result = await work(runtime);
    await runtime.engine.close();
    await telemetry.close();
    return result;
  }

  const oneCall = () => {
    const [root, ...others] = receiver.named("tool.invoke");
    expect(others).toEqual([]);
    if (!root) throw new Error("no span came");
    return root;
  };

  it("a success: the call above every stage, with what it was and how it ended [L3P2-5] [R1-8.3]", async () => {
    const answer = await traced(({ call }) => call("echo"));
    const root = oneCall();
    expect(receiver.treeOf(root.traceId)).toEqual(below(STAGES_OF_A_SUCCESS));
    expect(root.attributes).toMatchObject({
      tool_id: "echo",
      tool_version: "1.0.0",
      invocation_id: answer.callId,
      status: "success",
    });
    expect(root.status.code).toBe(0);
    expect(root.parentSpanId ?? "").toBe("");
  });

  it("a denial: ends at the permission check, with its code [L3P2-5] [R1-8.3]", async () => {
    await traced(({ call }) => call("denied"));
    const root = oneCall();
    const stages = ["tool_registry.lookup", "input.validate", "permission.check", "event.publish"];
    expect(receiver.treeOf(root.traceId)).toEqual(below(stages));
    expect(root.attributes).toMatchObject({ status: "permission_denied", error_code: "E3210" });
    const [check] = receiver.named("permission.check");
    expect(check?.status).toEqual({ code: 2, message: "E3210" });
    expect(receiver.named("input.validate")[0]?.status.code).toBe(0);
  });

  it("a failure: ends at the tool, with its code [L3P2-5] [R1-8.3]", async () => {
    await traced(({ call }) => call("breaks"));
    const root = oneCall();
    const stages = STAGES_OF_A_SUCCESS.filter((stage) => stage !== "result.validate");
    expect(receiver.treeOf(root.traceId)).toEqual(below(stages));
    expect(root.status).toEqual({ code: 2, message: "E3907" });
    expect(receiver.named("tool.execute")[0]?.attributes).toEqual({ error_code: "E3907" });
  });

  it("are below the caller's span, and the tool's are below tool.execute [L3P2-5]", async () => {
    const trace = { traceparent: `00-${TRACE_ID}-${SPAN_ID}-01`, tracestate: "vendor=1" };
    const answer = await traced(({ call }) => call("trace", {}, { trace }));
    const root = oneCall();
    expect(root).toMatchObject({ traceId: TRACE_ID, parentSpanId: SPAN_ID });
    const [execute] = receiver.named("tool.execute");
    expect(answer).toMatchObject({
      result: { trace: { traceparent: `00-${TRACE_ID}-${execute?.spanId}-01`, tracestate: "vendor=1" } },
    });
  });

  it("of an accepted call show how it was accepted, and below that how it ran [L3P2-5]", async () => {
    await traced(async ({ engine }) => {
      const caller = { tenant: "acme", agent: "agent" };
      const accepted = await engine.accept({ tool: "echo", input: {}, caller });
      const ended = async () => (await engine.standing(accepted.callId))?.status === "success";
      await vi.waitUntil(ended, { timeout: 20_000 });
    });
    const [accepting, running, ...others] = receiver.named("tool.invoke");
    expect(others).toEqual([]);
    expect(accepting?.attributes).toMatchObject({ status: "pending" });
    expect(running?.attributes).toMatchObject({ status: "success" });
    expect(running).toMatchObject({ traceId: accepting?.traceId, parentSpanId: accepting?.spanId });
    const [execute] = receiver.named("tool.execute");
    expect(execute?.parentSpanId).toBe(running?.spanId);
  });

  it("never hold what went into a tool or came out of it", async () => {
    await traced(async ({ call }) => {
      await call("echo", { password: SECRET });
      await call("breaks", { password: SECRET });
    });
    expect(receiver.named("tool.invoke")).toHaveLength(2);
    expect(receiver.bodies.join("")).not.toContain(SECRET);
  });

  it("say who sends, with the headers that the environment names", async () => {
    await traced(({ call }) => call("echo"), {
      OTEL_EXPORTER_OTLP_HEADERS: "x-key=a%20b",
      OTEL_SERVICE_NAME: "doorkeeper",
      OTEL_RESOURCE_ATTRIBUTES: "deployment.environment=test,service.name=other",
    });
    expect(receiver.resource).toMatchObject({
      "service.name": "doorkeeper",
      "service.version": "1.2.3",
      "service.instance.id": "one",
      "deployment.environment": "test",
    });
    expect(receiver.headers.at(-1)).toMatchObject({ "x-key": "a b" });
  });

  it("begin a trace of their own below what makes no sense", async () => {
    await traced(({ call }) =>
      call("echo", {}, { trace: { traceparent: "00-nonsense", tracestate: "=,=" } }),
    );
    expect(oneCall().parentSpanId ?? "").toBe("");
  });

  it("are not sent when the sampler or the caller says so; the trace goes on all the same", async () => {
    const off = await traced(({ call }) => call("trace"), { OTEL_TRACES_SAMPLER: "always_off" });
    const trace = { traceparent: `00-${TRACE_ID}-${SPAN_ID}-00` };
    const unsampled = await traced(({ call }) => call("trace", {}, { trace }));
    expect(receiver.spans).toEqual([]);
    const context = { traceparent: expect.stringMatching(/^00-[\da-f]{32}-[\da-f]{16}-00$/) };
    expect(off).toMatchObject({ result: { trace: context } });
    expect(unsampled).toMatchObject({ result: { trace: context } });
  });

  it("are not made without a tracer, and the caller's trace is passed on as it came", async () => {
    const trace = { traceparent: `00-${TRACE_ID}-${SPAN_ID}-01` };
    const env = { OTEL_TRACES_EXPORTER: "none" };
    const answer = await traced(({ call }) => call("trace", {}, { trace }), env);
    expect(answer).toMatchObject({ result: { trace } });
    expect(receiver.spans).toEqual([]);
  });
});

describe("metrics over OTLP", () => {
  it("are sent to where the environment says, the last ones when it closes [R1-8.2]", async () => {
    const receiver = new OtlpReceiver();
    const telemetry = openTelemetry(
      { OTEL_EXPORTER_OTLP_ENDPOINT: await receiver.open(), OTEL_TRACES_EXPORTER: "none" },
      { instance: "one", version: "1.2.3" },
    );
    const { call, engine } = await observedEngine(telemetry);
    await call("echo");
    await engine.close();
    await telemetry.close();
    await receiver.close();
    expect([...receiver.metricNames]).toEqual(
      expect.arrayContaining(["tool_invocations_total", "tool_execution_duration_seconds"]),
    );
    expect(receiver.spans).toEqual([]);
  });
});
