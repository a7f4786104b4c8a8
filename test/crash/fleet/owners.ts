import { setTimeout as sleep } from "node:timers/promises";
import { type Fault, LEASES_MS, PATIENCE_MS } from "./faults.ts";
import type { Replica } from "./replica.ts";
import { reading, type Tables } from "./tables.ts";

/*
 * Whether somebody has every open call in hand, as an outsider sees it. A call whose place in the tables does not change
 * is asked for at the process that holds it by the tables: one that has it tells its news, one that has not only what is
 * on record.
 */

const LOOK_MS = 500;
/** So long nobody may have a call in hand, not counting the time of faults that concern its holder. */
const LONGEST_MS = LEASES_MS.long + PATIENCE_MS;
/** How long a process gets to say anything of a call; one that has it may say nothing. */
const LISTEN_MS = 3_000;

/** An open call that nobody waits for a person with, and the process that holds it by the tables. */
interface OpenCall {
  call_id: string;
  phase: string;
  holder: string | null;
  /** The run or claim by which it is held. */
  hold: string | null;
  /** Of the holder, while its lease is live. */
  pid: number | null;
}

const OPEN = `SELECT o.*, (i.about::json ->> 'pid')::integer AS pid FROM (
    SELECT call_id, phase, owner AS holder, run_id AS hold FROM calls WHERE phase = 'executing'
    UNION ALL SELECT call_id, 'queued', claimed_by, claim_id FROM queue
    UNION ALL SELECT call_id, 'approved', claimed_by, claim_id FROM approvals
      WHERE unattended AND state IN ('approved', 'edited') AND expires_at > now_ms()
  ) AS o LEFT JOIN instances AS i ON i.instance = o.holder AND i.expires_at > now_ms()`;

interface Watched {
  tables: Tables;
  replicas: readonly Replica[];
  /** Those under way have no end yet. */
  faults: readonly Fault[];
  isOver: () => boolean;
}

/** Looks for open calls that nobody has in hand, until it is told to stop. */
export async function watchOwners(watched: Watched, found: (breach: string) => void): Promise<void> {
  let calm = new Map<string, number>();
  let last = performance.now();
  while (!watched.isOver()) {
    await sleep(LOOK_MS);
    // A machine that stands still lets nobody go on.
    const passed = Math.min(performance.now() - last, 2 * LOOK_MS);
    last = performance.now();
    const open = await openCalls(watched.tables).catch(() => undefined);
    if (!open) continue;
    const before = calm;
    calm = new Map();
    for (const call of open) {
      const name = nameOf(call);
      const ms = (before.get(name) ?? 0) + (isCalm(call, watched) ? passed : 0);
      const isOwnerless =
        ms > LONGEST_MS && !(await isInHand(call, watched)) && (await isStill(call, watched));
      if (isOwnerless) found(`ownerless: ${name}`);
      calm.set(name, isOwnerless ? -Infinity : ms);
    }
  }
}

function openCalls(tables: Tables): Promise<OpenCall[]> {
  return reading(tables, async (client) => (await client.query<OpenCall>(OPEN)).rows);
}

function nameOf({ call_id, phase, holder, hold }: OpenCall): string {
  return `${call_id} is ${phase} and held by ${holder} (${hold})`;
}

function holderOf({ pid }: OpenCall, { replicas }: Watched): Replica | undefined {
  return replicas.find((replica) => replica.pid === pid);
}

/** No fault is under way that keeps its holder, or those who would take it over, from going on. */
function isCalm(call: OpenCall, watched: Watched): boolean {
  const port = holderOf(call, watched)?.port;
  const underWay = watched.faults.filter(({ to }) => to === Infinity);
  if (underWay.some((fault) => fault.port === undefined)) return false;
  const disturbed = new Set(underWay.map((fault) => fault.port));
  return port === undefined ? disturbed.size < watched.replicas.length : !disturbed.has(port);
}

/** Whether the process that holds it says so, or says nothing. One that is gone has nothing in hand. */
async function isInHand(call: OpenCall, watched: Watched): Promise<boolean> {
  const holder = holderOf(call, watched);
  if (!holder) return false;
  const said = await firstNews(`http://127.0.0.1:${holder.port}/v1/invocations/${call.call_id}/events`);
  const isOnRecord = /^event: /m.test(said) && !/^id: (?!record\.)/m.test(said);
  return !isOnRecord;
}

async function firstNews(url: string): Promise<string> {
  const signal = AbortSignal.timeout(LISTEN_MS);
  let said = "";
  try {
    const { body } = await fetch(url, { signal });
    for await (const chunk of body?.pipeThrough(new TextDecoderStream()) ?? []) {
      said += chunk;
      if (said.includes("event: ")) break;
    }
  } catch {
    // It says no more.
  }
  return said;
}

async function isStill(call: OpenCall, { tables }: Watched): Promise<boolean> {
  const open = await openCalls(tables).catch(() => []);
  return open.some((one) => nameOf(one) === nameOf(call));
}
