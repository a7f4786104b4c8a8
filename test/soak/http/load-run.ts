import { setTimeout as sleep } from "node:timers/promises";
import { seeded } from "../../crash/seeded.ts";
import { Client } from "./ask.ts";
import { Book } from "./book.ts";
import { Caller } from "./caller.ts";
import { Resident } from "./resident.ts";
import type { ServerFolder } from "./server-folder.ts";
import type { ServerProcess } from "./server-process.ts";

export interface LoadPlan {
  seed: number;
  /** How long the server is open to the callers, all its lives together. */
  seconds: number;
  agents: number;
  callersPerAgent: number;
  kills: number;
}

export interface LoadRun {
  book: Book;
  /** When the server was killed. */
  kills: number[];
  /** Of the last life, which nothing disturbed. */
  memory: { seconds: number; tenths: number[]; growth: number };
  /** What the last life wrote into its log. */
  log: ServerProcess["log"];
}

/** In this part of the time the server is killed; in the rest one life is left alone. */
const KILLING_SHARE = 0.4;
/** How long callers go on asking for what they have begun. */
const PATIENCE_MS = 180_000;

/** Lets callers work while the server is killed and started again; in the end it is stopped as it should be. */
export async function runLoad(server: ServerFolder, plan: LoadPlan): Promise<LoadRun> {
  const book = new Book();
  const firstLife = await server.start();
  using crowd = new Crowd(server, { book, plan });
  const { life, kills } = await killAgainAndAgain(server, { firstLife, plan });
  using memory = new Resident(life.pid);
  await sleep(plan.seconds * 1_000 * (1 - KILLING_SHARE));
  const { seconds, tenths, growth } = memory;
  await crowd.finish();
  life.send("SIGTERM");
  const { code, stderr } = await life.gone;
  if (code !== 0) throw new Error(`it ended with ${code}: ${stderr}`);
  return { book, kills, memory: { seconds, tenths, growth }, log: life.log };
}

async function killAgainAndAgain(
  server: ServerFolder,
  { firstLife, plan }: { firstLife: ServerProcess; plan: LoadPlan },
): Promise<{ life: ServerProcess; kills: number[] }> {
  const random = seeded(plan.seed);
  const mean = (plan.seconds * 1_000 * KILLING_SHARE) / Math.max(1, plan.kills);
  const kills: number[] = [];
  let life = firstLife;
  while (kills.length < plan.kills) {
    await sleep(mean * (0.2 + 1.6 * random()));
    kills.push(Date.now());
    await life.kill();
    life = await server.start();
  }
  return { life, kills };
}

/** Callers at work, each agent's over connections of its own. */
class Crowd implements Disposable {
  readonly #clients: Client[];
  readonly #work: Promise<unknown>;
  #overAt = Number.POSITIVE_INFINITY;

  constructor(server: ServerFolder, { book, plan }: { book: Book; plan: LoadPlan }) {
    const { agents, callersPerAgent, seed } = plan;
    this.#clients = Array.from({ length: agents }, () => new Client(server.port));
    const common = {
      book,
      witness: server.path("witness"),
      isOver: () => Date.now() >= this.#overAt,
      isTooLate: () => Date.now() >= this.#overAt + PATIENCE_MS,
    };
    const callers = this.#clients.flatMap((client, agent) =>
      Array.from({ length: callersPerAgent }, (_, lane) => {
        const random = seeded(seed + agent * 100 + lane);
        return new Caller({ ...common, name: `c${agent}-${lane}`, agent: `agent-${agent}`, client, random });
      }),
    );
    this.#work = Promise.all(callers.map((caller) => caller.work()));
  }

  /** No new orders; resolves when each caller has seen its last one through. */
  async finish(): Promise<void> {
    this.#overAt = Date.now();
    await this.#work;
  }

  /** Everybody goes home, whatever they were about. */
  [Symbol.dispose](): void {
    this.#overAt = Number.NEGATIVE_INFINITY;
    for (const client of this.#clients) client[Symbol.dispose]();
  }
}
