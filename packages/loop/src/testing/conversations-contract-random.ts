import { scaledRuns } from "@sallyport/engine/testing";
import fc from "fast-check";
import { expect, it } from "vitest";
import type { Conversations, StreamEntry, Turn } from "../conversations-port.ts";
import { createMemoryConversations } from "../memory-conversations.ts";
import { contentOf, type OpenConversations } from "./conversations-contract-samples.ts";

/** Gives an id of its own in every run, so that runs can share a keeper. */
type Named = (name: string) => string;

/** One use of conversations. */
interface Step {
  name: string;
  given: unknown;
  run(kept: Conversations, named: Named): Promise<unknown>;
}

function step<Given>(
  name: string,
  given: fc.Arbitrary<Given>,
  run: (kept: Conversations, given: Given, named: Named) => Promise<unknown>,
): fc.Arbitrary<Step> {
  return given.map((one) => ({ name, given: one, run: (kept, named) => run(kept, one, named) }));
}

// Ids come from small pools, so that steps meet.
const TALKS = ["c0", "c1"];
const talk = fc.constantFrom(...TALKS);
const batch = fc.constantFrom("b0", "b1");
const at = fc.nat(9);
const index = fc.oneof({ weight: 2, arbitrary: fc.constant(0) }, { weight: 1, arbitrary: fc.nat(2) });
const text = fc.string({ unit: "binary", maxLength: 4 });
const result = { kind: fc.constant("tool_result"), id: text, name: text, isError: fc.boolean() } as const;
const turns = fc.array<Turn>(
  fc.oneof(fc.record({ kind: fc.constant("user"), text, at }), fc.record({ ...result, content: text, at })),
  { maxLength: 3 },
);
const entry = fc.oneof<fc.Arbitrary<StreamEntry>[]>(
  fc.record({ kind: fc.constant("text"), delta: text }),
  fc.record({ kind: fc.constant("call"), index, id: text, name: text }),
  fc.record({ kind: fc.constant("arguments"), index, delta: text }),
);

const create = (kept: Conversations, id: string, when: number) =>
  kept.create({ conversationId: id, model: "m", cwd: "/", title: "", createdAt: when, updatedAt: when });

/** Where it fits, a batch is sealed with the calls it has, whatever the indexes say. */
async function sealedIndexes(
  { journal }: Conversations,
  batchId: string,
  named: Named,
): Promise<number[] | undefined> {
  for (const id of TALKS) {
    const open = await journal.openOf(named(id));
    if (open?.batchId === batchId) return open.calls.map((call) => call.index);
  }
  return undefined;
}

const STEPS: [weight: number, step: fc.Arbitrary<Step>][] = [
  [1, step("create", fc.tuple(talk, at), (kept, [id, when], named) => create(kept, named(id), when))],
  [
    1,
    step("update", fc.tuple(talk, fc.option(text), at), (kept, [id, title, when], named) =>
      kept.update(named(id), { ...(title !== null && { title }), at: when }),
    ),
  ],
  [1, step("append", fc.tuple(talk, turns), (kept, [id, said], named) => kept.append(named(id), said))],
  [
    1,
    step("note", fc.tuple(talk, text), (kept, [id, sha256], named) =>
      kept.reads.note(named(id), { path: "/a", sha256, at: 1 }),
    ),
  ],
  [
    1,
    step("remove", fc.tuple(talk, fc.boolean()), async (kept, [id, openToo], named) =>
      (await kept.keeping.remove([named(id)], { openToo })).includes(named(id)),
    ),
  ],
  [
    3,
    step("open", fc.tuple(talk, batch, at), ({ journal }, [id, batchId, when], named) =>
      journal.open({ batchId: named(batchId), conversationId: named(id), model: "m", at: when }),
    ),
  ],
  [
    8,
    step("record", fc.tuple(batch, entry), ({ journal }, [id, one], named) => journal.record(named(id), one)),
  ],
  [
    3,
    step(
      "seal",
      fc.tuple(batch, turns, fc.array(index, { maxLength: 3 }), fc.boolean()),
      async (kept, [id, said, indexes, fits], named) => {
        const own = fits ? await sealedIndexes(kept, named(id), named) : undefined;
        const calls = (own ?? indexes).map((one) => ({
          index: one,
          arguments: `a${one}`,
          callId: `k${one}`,
        }));
        return await kept.journal.seal(named(id), { turns: said, calls });
      },
    ),
  ],
  [
    3,
    step("result", fc.tuple(batch, index, text), ({ journal }, [id, one, content], named) =>
      journal.result(named(id), one, { isError: false, content, at: 1 }),
    ),
  ],
  [
    1,
    step("close", fc.tuple(batch, turns), ({ journal }, [id, said], named) => journal.close(named(id), said)),
  ],
];
const anyStep = fc.oneof(...STEPS.map(([weight, arbitrary]) => ({ weight, arbitrary })));

/** What a step came to: its answer, nothing, or `rejected`. A RangeError is an outcome, anything else is not expected. */
async function outcomeOf(answer: Promise<unknown>): Promise<unknown> {
  try {
    return await answer;
  } catch (error) {
    if (error instanceof RangeError) return "rejected";
    throw error;
  }
}

async function everything(kept: Conversations, named: Named) {
  const ids = TALKS.map(named);
  const outlines = await kept.keeping.outlines({ limit: 999 });
  const contents = await Promise.all(ids.map((id) => contentOf(kept, id)));
  return [contents, outlines.filter(({ conversationId }) => ids.includes(conversationId))];
}

const RARE = [
  ...["seal true", "seal false", "seal rejected", "result true"],
  ...["close true", "open false", "remove true", "remove false"],
];

/** Whatever is done in whatever order, every answer and everything kept agree with the reference in memory. */
export function randomStepsContract(open: OpenConversations): void {
  it("behave as the reference does, whatever is done in whatever order [FR-RES-01] [FR-RES-04] [NFR-REL-01]", async () => {
    const { conversations } = await open();
    const reached = new Set<string>();
    let runs = 0;
    const run = fc.asyncProperty(
      fc.array(anyStep, { minLength: 20, maxLength: 80, size: "max" }),
      async (steps) => {
        const reference = createMemoryConversations();
        const prefix = `run ${++runs}`;
        const named = (name: string) => `${prefix} ${name}`;
        // Most runs begin with conversations to work in.
        for (const id of TALKS.slice(steps.length % 2))
          for (const kept of [conversations, reference]) await create(kept, named(id), 1);
        for (const { name, given, run: take } of steps) {
          const outcome = await outcomeOf(take(conversations, named));
          expect(outcome, `${name} ${JSON.stringify(given)}`).toBe(await outcomeOf(take(reference, named)));
          reached.add(`${name} ${outcome}`);
          if (name === "seal" || name === "close" || name === "remove")
            expect(await everything(conversations, named)).toEqual(await everything(reference, named));
        }
        expect(await everything(conversations, named)).toEqual(await everything(reference, named));
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
