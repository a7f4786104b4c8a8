import type { CallAnswer, LifecycleState } from "@sallyport/protocol";
import type { MemoryMeter } from "../../memory/meter.ts";
import { statesOf } from "../answers.ts";
import { Findings, type Seen } from "../box.ts";
import { type EngineFactory, inProbeHouse, type ProbeHouse } from "../probe-house.ts";
import { probe, probeFor } from "../probe-tool.ts";
import { ALL_BUT_STRANGERS, everyEnding } from "./endings.ts";

const TOOL = { tool_id: probe.manifest.id };

/** Takes calls to every ending and to a thread; each required reading must have reached the meter (R1-8.2, R1-8.3). */
export async function emitsTelemetry(make: EngineFactory): Promise<Seen> {
  const found = new Findings();
  const strict = { make, authority: ALL_BUT_STRANGERS };
  const counted = await inProbeHouse(strict, (house) => endings(house, found));
  const measured = await inProbeHouse({ make }, (house) => usage(house, found));
  return found.conclude(`${counted}; ${measured}`);
}

async function endings(house: ProbeHouse, found: Findings): Promise<string> {
  const answers = await everyEnding(house);
  await house.settle();
  const { meter } = house;
  for (const { what, seen, due } of expectedCounts(meter, answers)) {
    found.expect(seen === due, `${what}: ${seen} counted, ${due} happened`);
  }
  const duration = meter.summary("tool_execution_duration_seconds", TOOL);
  found.expect(duration.count === answers.length && duration.p99 > 0, "durations: no percentiles");
  found.expect(
    duration.p50 <= duration.p95 && duration.p95 <= duration.p99,
    "durations: percentiles out of order",
  );
  return `executions, endings, transitions, decisions, denials, rollbacks and durations of ${answers.length} calls counted`;
}

interface Count {
  what: string;
  seen: number;
  due: number;
}

function expectedCounts(meter: MemoryMeter, answers: CallAnswer[]): Count[] {
  const failed = answers.filter(({ status }) => status !== "success");
  const entered = answers.flatMap(statesOf);
  const times = (state: LifecycleState) => entered.filter((each) => each === state).length;
  return [
    { what: "executions", seen: meter.total("tool_invocations_total", TOOL), due: answers.length },
    {
      what: "successes",
      seen: meter.total("tool_invocations_total", { ...TOOL, status: "success" }),
      due: 1,
    },
    { what: "failures", seen: meter.total("tool_failures_total", TOOL), due: failed.length },
    {
      what: "validation failures",
      seen: meter.total("tool_failures_total", { code: "E3901" }),
      due: times("FAILED"),
    },
    {
      what: "limit violations",
      seen: meter.total("tool_failures_total", { code: "E3103" }),
      due: times("ABORTED"),
    },
    { what: "denials", seen: meter.total("capability_denials_total"), due: times("DENIED") },
    { what: "decisions", seen: meter.total("permission_checks_total"), due: times("VALIDATED") },
    { what: "rollbacks", seen: meter.total("tool_rollbacks_total", TOOL), due: times("ROLLED_BACK") },
    ...[...new Set(entered)].map((state) => ({
      what: `transitions to ${state}`,
      seen: meter.total("tool_lifecycle_transitions_total", { state }),
      due: times(state),
    })),
  ];
}

async function usage(house: ProbeHouse, found: Findings): Promise<string> {
  await house.register(probe, probeFor("thread"));
  await house.call(probe, "answer");
  await house.settle();
  const { meter } = house;
  found.expect(meter.summary("tool_cpu_seconds", TOOL).count > 0, "no processor time of a call in a thread");
  found.expect(meter.summary("tool_memory_peak_bytes", TOOL).count > 0, "no memory of a call in a thread");
  const written = meter.summary("tool_io_bytes", { ...TOOL, direction: "out" });
  found.expect(written.count > 0 && written.sum > 0, "no I/O of a call in a thread");
  return "processor time, memory and I/O of a call in a thread measured";
}
