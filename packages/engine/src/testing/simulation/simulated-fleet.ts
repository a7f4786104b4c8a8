import type { JsonValue } from "@sallyport/protocol";
import { ConfiguredAuthority } from "../../authorise/authority.ts";
import { GrantIndex, hmacSigner } from "../../authorise/grant/index.ts";
import type { Ids, Random } from "../../ports/platform.ts";
import type { ToolContext } from "../../ports/runner.ts";
import type { Store } from "../../ports/store.ts";
import { type Fixture, type FixtureTool, fixtureEngine } from "../fixture-engine.ts";
import { SimulatedBus, type SimulatedDatabase, SimulatedLine } from "./simulated-line.ts";
import { SimulatedProcess, type SimulatedTime } from "./simulated-time.ts";

const KEY = Buffer.alloc(32, 7);

/** Everybody may call every tool; what `pay` needs besides comes from a stored grant. */
const GRANTED = {
  id: "all",
  tenants: ["*"],
  agents: ["*"],
  tools: ["*"],
  operations: ["*"],
  capabilities: ["state.read", "state.write"],
};

/** A process with an engine, and its line to the database. */
export interface Member {
  process: SimulatedProcess;
  line: SimulatedLine;
  fixture: Fixture;
}

/** What a tool did, for whoever looks from outside. */
export interface Line {
  what: "began" | "paid";
  key: string;
  callId: string;
}

/** The status that somebody was told of a call. */
export interface ToldEnd {
  callId: string;
  status: string | undefined;
}

interface FleetOptions {
  time: SimulatedTime;
  random: Random;
  database: SimulatedDatabase;
  leaseMs: number;
  patienceMs: number;
  /** Told of everything that outsiders can see. */
  note(...words: unknown[]): void;
}

/** Engines as processes on one database, with tools whose effects an outsider can count. */
export class SimulatedFleet {
  readonly members: Member[] = [];
  readonly lines: Line[] = [];
  readonly callbacks: ToldEnd[] = [];
  readonly #options: FleetOptions;
  readonly #bus: SimulatedBus;
  #lives = 0;

  constructor(options: FleetOptions) {
    this.#options = options;
    this.#bus = new SimulatedBus(options.time, options.random);
  }

  /** Until it stands: a database that is away makes it start anew. */
  async start(slot: number): Promise<void> {
    const { time, patienceMs } = this.#options;
    for (;;) {
      this.#lives += 1;
      const process = new SimulatedProcess(`${slot}.${this.#lives}`);
      const line = new SimulatedLine({ ...this.#options, process, lateMs: patienceMs });
      try {
        const opened = time.within(process, () => this.#open(process, line.store));
        this.members[slot] = { process, line, fixture: await opened };
        return;
      } catch {
        process.kill();
        await time.pass(500);
      }
    }
  }

  async #open(process: SimulatedProcess, store: Store): Promise<Fixture> {
    const { time, random, leaseMs, patienceMs } = this.#options;
    const signer = hmacSigner(KEY);
    const grantIndex = new GrantIndex(signer);
    const fixture = await fixtureEngine(
      {
        ...{ store, signer, grantIndex, random, ids: idsOf(process.name) },
        authority: new ConfiguredAuthority({ grants: [GRANTED], grantIndex }),
        bus: this.#bus.of(process),
        clock: { now: () => time.now, elapsed: () => time.elapsed },
        lease: { leaseMs, renewMs: leaseMs / 3 },
        limits: { storeMs: patienceMs * 2, followMs: 1_000 },
      },
      this.#tools(),
    );
    const { engine } = fixture;
    // As a server does by itself.
    repeat(2_000, () => engine.claimQueued());
    repeat(2_500, () => engine.judgeOrphans());
    repeat(1_000, () => this.#deliver(fixture));
    return fixture;
  }

  #tools(): FixtureTool[] {
    const run = async (input: JsonValue, { callId, signal }: ToolContext) => {
      const { key, ms } = input as { key: string; ms: number };
      this.#seen({ what: "began", key, callId });
      await new Promise((resolve) => setTimeout(resolve, ms));
      signal.throwIfAborted();
      this.#seen({ what: "paid", key, callId });
      await new Promise((resolve) => setTimeout(resolve, ms / 2));
      return key;
    };
    const count = async (_: JsonValue, { state }: ToolContext) => {
      const next = Number((await state.get("n")) ?? 0) + 1;
      await state.put("n", next);
      return next;
    };
    const paying = { sideEffects: "external", requiredCapabilities: ["network.https"] };
    return [
      { id: "pay", run, conduct: paying },
      { id: "transfer", run, conduct: { sideEffects: "external", requiresApproval: true } },
      {
        id: "count",
        run: count,
        conduct: { sideEffects: "state", requiredCapabilities: ["state.read", "state.write"] },
      },
    ];
  }

  #seen(line: Line): void {
    this.lines.push(line);
    this.#options.note(line.what, line.key, line.callId);
  }

  async #deliver({ engine, store }: Fixture): Promise<void> {
    const order = { kind: "callback", instance: engine.instance, limit: 10, holdMs: 5_000 } as const;
    for (const callback of await store.work.claim(order)) {
      const { callId, tenant, attempts } = callback;
      const status = (await store.calls.get(callId))?.closing?.status;
      this.callbacks.push({ callId, status });
      this.#options.note("told", callId, status);
      const delivered = { callback: { ...callback, state: "delivered" as const }, expect: attempts };
      await store.commit({ tenant, callbacks: [delivered] });
    }
  }
}

/** Does it again and again, with a pause between; a store that is away then is asked the next time. */
function repeat(everyMs: number, run: () => Promise<unknown>): void {
  const again = (): unknown => setTimeout(() => void run().then(again, again), everyMs);
  again();
}

/** Ids that tell who made them. */
function idsOf(name: string): Ids {
  let made = 0;
  return {
    next: () => {
      made += 1;
      return `${name}-${String(made).padStart(4, "0")}`;
    },
  };
}
