import { failure, type JsonObject, SallyportError } from "@sallyport/protocol";
import { unanswered } from "../../journal/bounded-store.ts";
import { mapMethods } from "../../map-methods.ts";
import type { Bus, Channel, Listener, Random } from "../../ports/platform.ts";
import type { Store } from "../../ports/store.ts";
import type { SimulatedProcess, SimulatedTime } from "./simulated-time.ts";

/** The database that all processes use, and whether it is there. */
export interface SimulatedDatabase {
  store: Store;
  /** By the time since the beginning. */
  awayUntil: number;
}

/**
 * What becomes of the next request of a kind. `swallowed`: it is done and not answered; `late`: the same, but it is done
 * only when others have given it up; `refused`: it is not done, and the sender is told so.
 */
export interface Trap {
  fate: "swallowed" | "late" | "refused";
  isFor(method: string, order: unknown): boolean;
  /** How long the line is cut from then on. */
  cutMs: number;
  sprung(): void;
}

interface LineOptions {
  database: SimulatedDatabase;
  process: SimulatedProcess;
  time: SimulatedTime;
  random: Random;
  /** How long a request is sent again, as an adapter does. */
  patienceMs: number;
  /** The longest time a request can take that nobody waits for any more. */
  lateMs: number;
}

const MOST_LATENCY_MS = 4;
const SEND_AGAIN_MS = 150;

/**
 * The line of one process to the database: requests take time, and get lost. A unit is sent again under its id until
 * patience is over, and then rejected as unanswered if it may have been done, as every store does that is reached over a
 * network.
 */
export class SimulatedLine {
  readonly #options: LineOptions;
  readonly store: Store;
  cutUntil = 0;
  trap: Trap | undefined;

  constructor(options: LineOptions) {
    this.#options = options;
    this.store = mapMethods(options.database.store, (method, path) => (...args) => {
      const run = async () => await method(...args);
      return this.#held(this.#ask(run, path, args[0]));
    });
  }

  /** A process hears of an answer only while it runs. */
  #held(answer: Promise<unknown>): Promise<unknown> {
    const { process } = this.#options;
    return new Promise((resolve, reject) =>
      answer.then(
        (value) => process.act(() => resolve(value)),
        (error) => process.act(() => reject(error)),
      ),
    );
  }

  async #ask(run: () => Promise<unknown>, method: string, order: unknown): Promise<unknown> {
    const { database, time, random, patienceMs } = this.#options;
    const giveUpAt = time.elapsed + patienceMs;
    let isInDoubt = false;
    do {
      await time.pass(1 + Math.floor(random() * MOST_LATENCY_MS));
      const isAway = time.elapsed < Math.max(database.awayUntil, this.cutUntil);
      if (!isAway) {
        const trap = this.trap?.isFor(method, order) ? this.trap : undefined;
        const done = trap?.fate === "refused" || trap?.fate === "late" ? undefined : await run();
        // Where nothing was claimed nothing can be forgotten.
        if (!trap || (Array.isArray(done) && done.length === 0)) return done;
        this.#spring(trap);
        if (trap.fate === "refused") throw lost("The unit could not be written.");
        if (trap.fate === "late") void this.#late(run);
        isInDoubt = true;
      }
      // A claim that is asked for again is another claim.
      if (isInDoubt && method === "work.claim") break;
      await time.pass(SEND_AGAIN_MS);
    } while (time.elapsed < giveUpAt);
    throw isInDoubt ? unanswered("The connection was lost.") : lost("The database cannot be reached.");
  }

  async #late(run: () => Promise<unknown>): Promise<void> {
    const { time, random, lateMs } = this.#options;
    await time.pass(Math.floor(random() * lateMs));
    await run().catch(() => undefined);
  }

  #spring({ cutMs, sprung }: Trap): void {
    this.trap = undefined;
    this.cutUntil = this.#options.time.elapsed + cutMs;
    sprung();
  }
}

function lost(message: string): SallyportError {
  return new SallyportError(failure("E3914", { message }));
}

const MOST_BUS_MS = 30;
/** The part of the messages that nobody gets. */
const LOST_MESSAGES = 0.1;

/** Messages between the processes: late, in any order, and some of them never. */
export class SimulatedBus {
  readonly #time: SimulatedTime;
  readonly #random: Random;
  readonly #listeners: { channel: Channel; process: SimulatedProcess; listener: Listener }[] = [];

  constructor(time: SimulatedTime, random: Random) {
    this.#time = time;
    this.#random = random;
  }

  /** The bus as a process has it. */
  of(process: SimulatedProcess): Bus {
    return {
      publish: (channel, message) => {
        for (const one of this.#listeners) if (one.channel === channel) void this.#tell(one, message);
      },
      subscribe: (channel, listener) => {
        const own = { channel, process, listener };
        this.#listeners.push(own);
        return () => void this.#listeners.splice(this.#listeners.indexOf(own), 1);
      },
    };
  }

  async #tell(
    { process, listener }: { process: SimulatedProcess; listener: Listener },
    message: JsonObject,
  ): Promise<void> {
    if (process.isDead || this.#random() < LOST_MESSAGES) return;
    const copy = structuredClone(message);
    await this.#time.pass(Math.floor(this.#random() * MOST_BUS_MS));
    process.act(() => this.#time.within(process, () => listener(copy)));
  }
}
