import type { Accepted, CallAnswer } from "@sallyport/protocol";
import { isFailure, SallyportError } from "@sallyport/protocol";
import { createMemoryStore } from "../../memory/store.ts";
import type { Random } from "../../ports/platform.ts";
import type { UnitOfWork } from "../../ports/store.ts";
import { type Member, SimulatedFleet } from "./simulated-fleet.ts";
import type { SimulatedDatabase, Trap } from "./simulated-line.ts";
import { SimulatedTime } from "./simulated-time.ts";
import { broken, type Order, type Told } from "./simulation-check.ts";

/*
 * A whole fleet in one process, in a time of its own: engines on one store, clients that ask again until they are
 * answered, a person who approves, and what can go wrong between them. One number decides everything that happens.
 */

const PROCESSES = 3;
const CLIENTS = 3;
/** At most; in some worlds there are none. */
const FAULTS = 8;
/** So long faults begin; afterwards everything is let come to rest. */
const TROUBLE_MS = 12_000;
const LONGEST_REST_MS = 300_000;
const LOOK_MS = 1_000;
/** A lease and patience as they come: the one longer, or the other. */
const RULES = [
  { leaseMs: 6_000, patienceMs: 1_500 },
  { leaseMs: 2_000, patienceMs: 3_000 },
] as const;

const CALLER = { tenant: "acme", agent: "agent" };

export interface SimulationReport {
  broken: string[];
  /** How often each fault was made. */
  faults: Record<string, number>;
  /** Everything that outsiders saw, in order: the same seed gives the same text. */
  trace: string;
}

/** One world from its beginning to its rest. The same seed gives the same report. */
export async function simulate(seed: number): Promise<SimulationReport> {
  const time = new SimulatedTime();
  const restore = time.install();
  try {
    return await time.until(new World(seed, time).run());
  } finally {
    restore();
  }
}

class World {
  readonly #time: SimulatedTime;
  readonly #random: Random;
  readonly #rules: (typeof RULES)[number];
  readonly #database: SimulatedDatabase;
  readonly #fleet: SimulatedFleet;
  readonly #told: Told[] = [];
  readonly #trace: string[] = [];
  readonly #faults: Record<string, number> = {};
  #isOver = false;
  #isAtRest = false;

  constructor(seed: number, time: SimulatedTime) {
    this.#time = time;
    this.#random = seeded(seed);
    this.#rules = this.#one(RULES);
    const store = createMemoryStore({ isShared: true, clock: { now: () => time.now } });
    this.#database = { store, awayUntil: 0 };
    const note = (...words: unknown[]) => this.#note(...words);
    this.#fleet = new SimulatedFleet({
      ...{ time, random: this.#random, database: this.#database, note },
      ...this.#rules,
    });
  }

  async run(): Promise<SimulationReport> {
    for (let slot = 0; slot < PROCESSES; slot += 1) await this.#fleet.start(slot);
    const grantId = await this.#grant();
    const clients = Array.from({ length: CLIENTS }, (_, index) => this.#work(`c${index}`));
    const person = this.#approve();
    await this.#trouble();
    this.#isOver = true;
    await Promise.all(clients);
    await this.#rest();
    await person;
    const outcome = {
      ...{ store: this.#database.store, told: this.#told, grantId },
      isQuiet: Object.keys(this.#faults).length === 0,
      ...{ lines: this.#fleet.lines, callbacks: this.#fleet.callbacks },
    };
    const { fixture, process } = this.#fleet.members[0] as Member;
    const closing = { as: "rolled_back", by: "ada", note: "looked" } as const;
    const found = await broken(outcome, (callId) =>
      this.#time.within(process, () => fixture.engine.closeByPerson({ callId, ...closing })),
    );
    return { broken: found, faults: this.#faults, trace: this.#trace.join("\n") };
  }

  #between(least: number, most: number): number {
    return Math.floor(least + (most - least) * this.#random());
  }

  #one<Item>(items: readonly Item[]): Item {
    return items[Math.floor(this.#random() * items.length)] as Item;
  }

  #note(...words: unknown[]): void {
    this.#trace.push([this.#time.elapsed, ...words].join(" "));
  }

  /** Without a limit in sight, so that every use is counted and none refused. */
  async #grant(): Promise<string> {
    const { fixture, process } = this.#fleet.members[0] as Member;
    const grant = await this.#time.within(process, () =>
      fixture.engine.grants.issue({
        tenant: CALLER.tenant,
        capabilityId: "network.https",
        grantee: { type: "TOOL", id: "pay" },
        grantor: { id: "ada", operator: true },
        constraints: [{ type: "max_uses", value: 1_000 }],
        delegatable: true,
      }),
    );
    if (isFailure(grant)) throw new SallyportError(grant);
    await this.#time.pass(2_000);
    return grant.grantId;
  }

  /** A client: one order after the other, each until it is answered. */
  async #work(name: string): Promise<void> {
    for (let number = 1; !this.#isOver; number += 1) {
      const order: Order = {
        key: `${name}-${number}`,
        tool: this.#one(["pay", "pay", "transfer", "count"] as const),
        isAsync: this.#random() < 0.5,
        ms: this.#between(1, 900),
      };
      await this.#make(order);
      await this.#time.pass(this.#between(10, 1_500));
    }
  }

  async #make(order: Order): Promise<void> {
    const told: Told = { order };
    this.#told.push(told);
    const { key, tool, isAsync, ms } = order;
    const callbackUrl = isAsync ? { callbackUrl: `https://example.com/${key}` } : {};
    const input = { key, ms };
    const request = { tool, input, caller: CALLER, idempotencyKey: key, unattended: isAsync, ...callbackUrl };
    while (this.#time.elapsed < TROUBLE_MS + LONGEST_REST_MS) {
      const answer = await this.#ask(({ fixture: { engine } }) =>
        isAsync ? engine.accept(request) : engine.call(request),
      );
      if (answer && isSettled(answer, told)) break;
      await this.#time.pass(this.#between(100, 600));
    }
    this.#note("answered", key, told.answer?.status ?? told.accepted);
  }

  /** Asks any process that is there; undefined when it does not answer in time. */
  async #ask<Answer>(ask: (member: Member) => Promise<Answer>): Promise<Answer | undefined> {
    const member = this.#one(this.#fleet.members);
    const { process } = member;
    const answer = new Promise<Answer>((resolve, reject) =>
      process.act(() => this.#time.within(process, () => ask(member)).then(resolve, reject)),
    );
    return await Promise.race([
      answer,
      this.#time.pass(this.#between(200, this.#one([1_000, 15_000]))).then(() => undefined),
    ]);
  }

  async #approve(): Promise<void> {
    while (!this.#isAtRest) {
      await this.#time.pass(LOOK_MS);
      const pending = await this.#database.store.approvals.list({ states: ["pending"], limit: 100 });
      for (const { approvalId } of pending)
        await this.#ask(({ fixture: { engine } }) =>
          engine.approvals.approve(approvalId, { by: "ada" }),
        ).catch(() => undefined);
    }
  }

  async #trouble(): Promise<void> {
    const made: Promise<void>[] = [];
    const most = this.#between(0, FAULTS + 1);
    for (let number = 0; number < most; number += 1) {
      await this.#time.pass(this.#between(0, (2 * TROUBLE_MS) / FAULTS));
      const name = this.#one(FAULT_NAMES);
      made.push(this.#fail(name, this.#between(0, PROCESSES)));
    }
    await this.#time.pass(TROUBLE_MS - this.#time.elapsed);
    await Promise.all(made);
    for (const { line } of this.#fleet.members) line.trap = undefined;
  }

  /** Resolves when nothing of it is left. */
  async #fail(name: FaultName, slot: number): Promise<void> {
    const { process, line } = this.#fleet.members[slot] as Member;
    const { leaseMs, patienceMs } = this.#rules;
    const cutMs = this.#between(0, this.#one([patienceMs, 3 * patienceMs, 2 * leaseMs]));
    if (name in TRAPS) {
      const trap = TRAPS[name as keyof typeof TRAPS];
      line.trap = { ...trap, cutMs, sprung: () => this.#count(name, slot) };
      return;
    }
    // The first one lives through it all, so that what it forgets stays forgotten.
    if (name === "kill" && slot === 0) return;
    this.#count(name, slot);
    const until = this.#time.elapsed + cutMs;
    if (name === "freeze") process.freeze();
    if (name === "kill") process.kill();
    if (name === "cut") line.cutUntil = until;
    if (name === "outage") this.#database.awayUntil = until;
    await this.#time.pass(cutMs);
    if (name === "freeze") process.goOn();
    if (name === "kill") await this.#fleet.start(slot);
  }

  #count(name: FaultName, slot: number): void {
    this.#faults[name] = (this.#faults[name] ?? 0) + 1;
    this.#note(name, slot);
  }

  /** Until nothing is open any more, or it takes too long. */
  async #rest(): Promise<void> {
    const { store, awayUntil } = this.#database;
    const backAt = Math.max(awayUntil, ...this.#fleet.members.map(({ line }) => line.cutUntil));
    await this.#time.pass(backAt - this.#time.elapsed);
    const end = TROUBLE_MS + 2 * LONGEST_REST_MS;
    const isOpen = async () => {
      const calls = await store.calls.list({ limit: 10_000 });
      if (calls.some(({ phase }) => phase !== "closed" && phase !== "unknown")) return true;
      const callbacks = await Promise.all(calls.map(({ callId }) => store.callbacks.ofCall(callId)));
      return callbacks.some((callback) => callback?.state === "due");
    };
    while (this.#time.elapsed < end && (await isOpen())) await this.#time.pass(LOOK_MS);
    this.#isAtRest = true;
  }
}

const ACCEPTED = new Set(["pending", "running", "pending_approval"]);
/** Nothing was decided: ask again, with the same key, anywhere. */
const ASK_AGAIN = new Set(["E3106", "E3216", "E3908", "E3910", "E3914", "E3918", "E3922", "E3923"]);

function isSettled(answer: CallAnswer | Accepted, told: Told): boolean {
  if (ACCEPTED.has(answer.status)) {
    told.accepted ??= answer.callId;
    return told.order.isAsync;
  }
  const final = answer as CallAnswer;
  const isOnRecord = final.replayed && told.before === final.callId;
  told.before = final.callId;
  if ("error" in final && ASK_AGAIN.has(final.error.code) && !isOnRecord) return false;
  told.answer = final;
  return true;
}

/** What is done to the next request of a kind; the others happen to a process, its line or the database. */
const TRAPS = {
  swallow: { fate: "swallowed", isFor: isOpening },
  late: { fate: "late", isFor: isOpening },
  swallow_end: { fate: "swallowed", isFor: isEnding },
  late_end: { fate: "late", isFor: isEnding },
  refuse: { fate: "refused", isFor: (method) => method === "commit" },
  swallow_claim: { fate: "swallowed", isFor: (method) => method === "work.claim" },
} satisfies Record<string, Omit<Trap, "cutMs" | "sprung">>;

type FaultName = keyof typeof TRAPS | "freeze" | "kill" | "cut" | "outage";
const FAULT_NAMES = [...(Object.keys(TRAPS) as FaultName[]), "freeze", "kill", "cut", "outage"] as const;

function isOpening(method: string, order: unknown): boolean {
  if (method !== "commit") return false;
  const { open, begin } = order as UnitOfWork;
  return (open ?? begin) !== undefined;
}

function isEnding(method: string, order: unknown): boolean {
  return method === "commit" && (order as UnitOfWork).close !== undefined;
}

/** Numbers that a seed decides (mulberry32). */
function seeded(seed: number): Random {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}
