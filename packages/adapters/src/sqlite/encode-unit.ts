import type {
  CallClosing,
  CallIntent,
  CallRecord,
  StateWrites,
  ToolWrite,
  UnitOfWork,
} from "@sallyport/engine";
import { encodeAnswer, encodeKnown } from "./answer-text.ts";
import { encodeFacts } from "./call-rows.ts";
import { callbackBytes, encodeCallbacks } from "./encode-callbacks.ts";
import { encodePermits, permitBytes } from "./encode-permits.ts";
import { encodeEnqueued } from "./encode-queue.ts";
import { lost } from "./failures.ts";
import type { BegunCall, ClosedCall, OpenedCall, StateJob, ToolRow, UnitJob } from "./messages.ts";

/** Flattens a unit for the writer thread. Throws when something in it is not JSON; nothing is written then. */
export function encodeUnit(unit: UnitOfWork, pins: number[]): UnitJob {
  return [
    "unit",
    unit.tenant,
    unit.open ? openedCall(unit.open) : null,
    unit.close ? closedCall(unit.close) : null,
    unit.state ? stateJob(unit.state, pins) : null,
    unit.tools ? unit.tools.map(toolRow) : null,
    unit.events.map(onOneLine),
    unit.outbox.map(({ type, callId }) => onOneLine(`${type} ${callId}`)),
    unit.begin ? begunCall(unit.begin) : null,
    encodePermits(unit),
    unit.grantUses?.length ? unit.grantUses.map(({ grantId, at }) => [grantId, at]) : null,
    encodeEnqueued(unit),
    encodeCallbacks(unit.callbacks),
    unit.close?.from ?? null,
  ];
}

/** Roughly how many bytes a job takes while it waits. */
export function jobBytes(job: UnitJob): number {
  const [, , open, close, state, tools, events, , begin, permits, uses, enqueue, callbacks] = job;
  let bytes = 512;
  for (const event of events) bytes += event.length;
  for (const cell of open ?? []) bytes += typeof cell === "string" ? cell.length : 8;
  for (const cell of close ?? []) bytes += typeof cell === "string" ? cell.length : 8;
  for (const cell of begin ?? []) bytes += typeof cell === "string" ? cell.length : 8;
  for (const cell of enqueue ?? []) bytes += typeof cell === "string" ? cell.length : 8;
  for (const [grantId] of uses ?? []) bytes += grantId.length + 8;
  for (const [key, value] of state?.writes ?? []) bytes += key.length + (value?.length ?? 0);
  if (permits) bytes += permitBytes(permits);
  if (callbacks) bytes += callbackBytes(callbacks);
  return bytes + (tools?.length ?? 0) * 4096;
}

function openedCall(call: CallRecord): OpenedCall {
  const { closing } = call;
  return [
    call.callId,
    call.tenant,
    call.agent,
    call.idempotencyKey ?? null,
    call.session ?? null,
    call.tool,
    call.version,
    call.input,
    encodeFacts(call),
    call.startedAt,
    call.phase,
    closing?.status ?? null,
    closing?.closedAt ?? null,
    closing?.outputHash ?? null,
    closing ? encodeAnswer(closing.answer) : null,
  ];
}

function begunCall(call: CallIntent): BegunCall {
  return [
    call.callId,
    call.tenant,
    call.agent,
    call.idempotencyKey ?? null,
    call.session ?? null,
    call.tool,
    call.version,
    call.input,
    encodeFacts(call),
    call.startedAt,
  ];
}

function closedCall({ callId, phase, closing }: CallClosing): ClosedCall {
  return [
    callId,
    phase,
    closing?.status ?? null,
    closing?.closedAt ?? null,
    closing?.outputHash ?? null,
    closing ? encodeAnswer(closing.answer) : null,
    closing ? encodeKnown(closing.answer) : null,
  ];
}

function stateJob({ scope, callId, snapshotVersion, writes }: StateWrites, pins: number[]): StateJob {
  const lastOfEach = new Map<string, string | null>();
  for (const { key, value } of writes) {
    lastOfEach.set(key, value === undefined ? null : JSON.stringify(value));
  }
  return { tenant: scope.tenant, tool: scope.tool, callId, snapshotVersion, pins, writes: [...lastOfEach] };
}

function toolRow({ record }: ToolWrite): ToolRow {
  const { manifest, registeredAt } = record;
  const { id, name, description, category, tags, version, source } = manifest;
  return {
    definition: [id, name, description, category, JSON.stringify(tags), version, source.type, registeredAt],
    version: [
      id,
      version,
      JSON.stringify(manifest),
      record.manifestHash,
      JSON.stringify(record.retirement),
      record.module ?? null,
      registeredAt,
      record.quarantine ? JSON.stringify(record.quarantine) : null,
    ],
  };
}

/** Runs of events and messages are kept as lines; JSON text and ids never hold a line break of their own. */
function onOneLine(text: string): string {
  if (!text.includes("\n")) return text;
  throw lost("An audit event or an outbox message holds a line break, so it is not canonical JSON.");
}
