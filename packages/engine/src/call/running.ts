import type { LifecycleState } from "@sallyport/protocol";
import type { CallFilter } from "../ports/calls.ts";
import type { InFlight, Running } from "./in-flight.ts";

/** What is known of a call that runs here, whether or not the journal has it. */
export interface RunningNow {
  version: string;
  operation: string;
  startedAt: number;
  /** The last it entered; absent before its tool is known. */
  state?: LifecycleState;
}

/** A call that this process is working on. */
export interface RunningCall extends RunningNow {
  callId: string;
  tenant: string;
  agent: string;
  tool: string;
  /** The journal has it: with its intent, as waiting for approval, or as accepted. */
  onRecord: boolean;
}

/** The calls this process is working on, newest first. */
export function runningCalls(
  filter: Pick<CallFilter, "tenant" | "agent" | "tool">,
  inFlight: InFlight,
): RunningCall[] {
  const found: RunningCall[] = [];
  for (const [callId, running] of inFlight.entries()) {
    if (isWanted(running, filter)) found.push(described(callId, running));
  }
  return found.reverse();
}

/** What a call under way is, as far as it is known by now. */
export function runningNow(running: Readonly<Running>): RunningNow {
  const { attempt, startedAt } = running;
  const { toolVersion, operation } = attempt?.facts ?? {};
  const state = attempt?.visits.at(-1)?.state;
  return {
    version: toolVersion ?? running.version ?? "*",
    operation: operation ?? running.operation ?? "",
    startedAt,
    ...(state && { state }),
  };
}

function described(callId: string, running: Readonly<Running>): RunningCall {
  const { tenant, agent, tool } = running;
  return { callId, tenant, agent, tool, ...runningNow(running), onRecord: isOnRecord(running) };
}

function isOnRecord({ attempt }: Readonly<Running>): boolean {
  if (!attempt) return false;
  return attempt.journaled || attempt.waits !== undefined || attempt.facts.approval !== undefined;
}

function isWanted(
  running: Readonly<Running>,
  { tenant, agent, tool }: Pick<CallFilter, "tenant" | "agent" | "tool">,
): boolean {
  return (
    (tenant === undefined || running.tenant === tenant) &&
    (agent === undefined || running.agent === agent) &&
    (tool === undefined || running.tool === tool)
  );
}
