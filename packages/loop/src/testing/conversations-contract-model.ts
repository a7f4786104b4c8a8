import { scaledRuns } from "@sallyport/engine/testing";
import fc from "fast-check";
import { expect, it } from "vitest";
import type { Conversations, OpenBatch, Turn } from "../conversations-port.ts";
import type { OpenConversations } from "./conversations-contract-samples.ts";
import {
  type ConversationStep,
  conversationStep,
  type StepOutcome,
  takeStep,
} from "./conversations-contract-steps.ts";

type BatchStep = Extract<ConversationStep, { batch: string }>;

interface Talk {
  title: string;
  createdAt: number;
  updatedAt: number;
  turns: Turn[];
  batch?: OpenBatch;
}

/** Conversations in their simplest form: a batch is a member of its conversation, so there cannot be two. */
class Model {
  readonly talks = new Map<string, Talk>();
  readonly reads = new Map<string, string>();

  take(step: ConversationStep): StepOutcome {
    if ("batch" in step) return step.do === "open" ? this.#open(step) : this.#takeInBatch(step);
    const talk = this.talks.get(step.conversation);
    if (step.do === "note") this.reads.set(step.conversation, step.sha256);
    else if (step.do === "create") return this.#create(step);
    else if (step.do === "remove") return this.#remove(step);
    else if (step.do === "append" && !talk) return "rejected";
    else if (step.do === "append") talk?.turns.push(...step.turns);
    else if (talk)
      Object.assign(talk, step.title === undefined ? {} : { title: step.title }, { updatedAt: step.at });
    return undefined;
  }

  #create({ conversation, at }: ConversationStep & { do: "create" }): StepOutcome {
    if (this.talks.has(conversation)) return "rejected";
    this.talks.set(conversation, { title: "", createdAt: at, updatedAt: at, turns: [] });
    return undefined;
  }

  #remove({ conversation, openToo }: ConversationStep & { do: "remove" }): StepOutcome {
    const talk = this.talks.get(conversation);
    if (!talk || (talk.batch && !openToo)) return false;
    this.reads.delete(conversation);
    return this.talks.delete(conversation);
  }

  #open({ conversation, batch: batchId, at }: BatchStep & { do: "open" }): StepOutcome {
    const talk = this.talks.get(conversation);
    if (!talk) return "rejected";
    if (talk.batch) return false;
    if (this.#holding(batchId)) return "rejected";
    const opened = { batchId, conversationId: conversation, model: "m", openedAt: at, text: "", calls: [] };
    talk.batch = { ...opened, phase: "streaming" };
    return true;
  }

  #takeInBatch(step: Exclude<BatchStep, { do: "open" }>): StepOutcome {
    const talk = this.#holding(step.batch);
    const batch = talk?.batch;
    if (!talk || !batch) return step.do === "record" ? "rejected" : false;
    if (step.do === "record") return record(batch, step.entry);
    if (step.do === "result") return keepResult(batch, step);
    if (step.do === "seal") return seal(talk, batch, step);
    talk.turns.push(...step.turns);
    delete talk.batch;
    return true;
  }

  indexesOf(batchId: string): number[] {
    return this.#holding(batchId)?.batch?.calls.map(({ index }) => index) ?? [];
  }

  #holding(batchId: string): Talk | undefined {
    return [...this.talks.values()].find(({ batch }) => batch?.batchId === batchId);
  }
}

function record(batch: OpenBatch, entry: Extract<BatchStep, { do: "record" }>["entry"]): StepOutcome {
  if (batch.phase === "sealed") return "rejected";
  if (entry.kind === "text") batch.text += entry.delta;
  else if (entry.kind === "call") {
    if (entry.index !== batch.calls.length) return "rejected";
    batch.calls.push({ index: entry.index, id: entry.id, name: entry.name, arguments: "" });
  } else {
    const call = batch.calls[entry.index];
    if (!call) return "rejected";
    call.arguments += entry.delta;
  }
  return undefined;
}

function keepResult(batch: OpenBatch, { index, content }: BatchStep & { do: "result" }): StepOutcome {
  const call = batch.calls[index];
  if (batch.phase === "streaming" || !call || call.result) return false;
  call.result = { isError: false, content, at: 1 };
  return true;
}

function seal(talk: Talk, batch: OpenBatch, { turns, indexes }: BatchStep & { do: "seal" }): StepOutcome {
  if (batch.phase === "sealed") return false;
  if (indexes.toSorted().join() !== batch.calls.map(({ index }) => index).join()) return "rejected";
  batch.phase = "sealed";
  for (const call of batch.calls) {
    Object.assign(call, { arguments: `a${call.index}`, callId: `k${call.index}` });
  }
  talk.turns.push(...turns);
  return true;
}

/** Most runs begin with conversations to work in. */
const MADE: ConversationStep[] = ["c0", "c1"].map((conversation) => ({ do: "create", conversation, at: 1 }));

const RARE = [
  ...["seal true", "seal false", "seal rejected", "result true"],
  ...["close true", "open false", "remove true", "remove false"],
];

/** Whatever is done in whatever order, every answer and everything kept agree with the model. */
export function conversationsModelContract(open: OpenConversations): void {
  it("behave as a plain model does, whatever is done in whatever order [FR-RES-01] [FR-RES-04] [NFR-REL-01]", async () => {
    const { conversations } = await open();
    const reached = new Set<string>();
    let runs = 0;
    const run = fc.asyncProperty(
      fc.array(conversationStep, { minLength: 20, maxLength: 80, size: "max" }),
      async (steps) => {
        const world = new World(conversations, `run ${++runs}`);
        for (const step of [...MADE.slice(steps.length % 2), ...steps]) {
          reached.add(`${step.do} ${await world.take(step)}`);
        }
        await world.check();
      },
    );
    await fc.assert(run, { numRuns: scaledRuns(40) });
    // Wide enough to mean something: steps that need others before them are taken, in further runs where luck wanted it.
    const seed = fc.readConfigureGlobal().seed ?? 0;
    const unreached = () => RARE.filter((rare) => !reached.has(rare));
    for (let more = 1; more <= 20 && unreached().length > 0; more += 1) {
      await fc.assert(run, { numRuns: 20, seed: seed + more });
    }
    expect(unreached()).toEqual([]);
  });
}

/** Conversations and their model side by side; a run's ids are its own, so that runs can share a keeper. */
class World {
  readonly #conversations: Conversations;
  readonly #run: string;
  readonly #model = new Model();

  constructor(conversations: Conversations, run: string) {
    this.#conversations = conversations;
    this.#run = run;
  }

  async take(step: ConversationStep): Promise<StepOutcome> {
    const own = ofRun(this.#run, step);
    if (own.do === "seal" && own.fits) own.indexes = this.#model.indexesOf(own.batch);
    const outcome = await takeStep(this.#conversations, own);
    expect(outcome, JSON.stringify(step)).toBe(this.#model.take(own));
    if (step.do === "seal" || step.do === "close" || step.do === "remove") await this.check();
    return outcome;
  }

  async check(): Promise<void> {
    const outlines = await this.#conversations.keeping.outlines({ limit: 999 });
    for (const id of ["c0", "c1"].map((name) => `${this.#run} ${name}`)) {
      const talk = this.#model.talks.get(id);
      const { title, createdAt, updatedAt } = talk ?? {};
      const record = talk && { conversationId: id, model: "m", cwd: "/", title, createdAt, updatedAt };
      expect(await this.#conversations.get(id)).toEqual(record);
      expect(await this.#conversations.turns(id)).toEqual(talk?.turns ?? []);
      expect(await this.#conversations.journal.openOf(id)).toEqual(talk?.batch);
      const outline = talk && { ...record, turns: talk.turns.length, hasOpenBatch: talk.batch !== undefined };
      expect(outlines.find(({ conversationId }) => conversationId === id)).toEqual(outline);
      expect((await this.#conversations.reads.find(id, "/a"))?.sha256).toBe(this.#model.reads.get(id));
    }
  }
}

function ofRun(run: string, step: ConversationStep): ConversationStep {
  const own = { ...step };
  if ("conversation" in own) own.conversation = `${run} ${own.conversation}`;
  if ("batch" in own) own.batch = `${run} ${own.batch}`;
  return own;
}
