import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { EventChannel, joinedText, LONGEST_JOINED_CHARS } from "./event-channel.ts";
import type { LoopEvent } from "./events.ts";

type Chunk = Extract<LoopEvent, { kind: "stdout" | "stderr" }>;

const chunk = (text: string, index = 0, kind: Chunk["kind"] = "stdout"): Chunk => ({
  kind,
  index,
  id: `c${index}`,
  chunk: text,
});
const notice = (text: string): LoopEvent => ({ kind: "notice", level: "info", text });

/** A listener that is busy until it is let go. */
class SlowListener {
  readonly heard: LoopEvent[] = [];
  #go: (() => void) | undefined;
  readonly listen = (event: LoopEvent): Promise<void> => {
    this.heard.push(event);
    return new Promise((resolve) => {
      this.#go = resolve;
    });
  };
  async letGo(): Promise<void> {
    this.#go?.();
    await new Promise(setImmediate);
  }
}

/** Neighbours of the same text as one, so that lists can be compared whatever was joined. */
function normal(events: readonly LoopEvent[]): LoopEvent[] {
  const list: LoopEvent[] = [];
  for (const event of events) {
    const last = list.at(-1);
    const joined = last && joinedText(last, event);
    if (joined) list[list.length - 1] = joined;
    else list.push(event);
  }
  return list;
}

const anyEvent: fc.Arbitrary<LoopEvent> = fc.oneof(
  fc.record({
    kind: fc.constantFrom("stdout", "stderr"),
    index: fc.nat(1),
    id: fc.constantFrom("a", "b"),
    chunk: fc.string({ maxLength: 3 }),
  }),
  fc.record({ kind: fc.constantFrom("text", "reasoning"), delta: fc.string({ maxLength: 3 }) }),
  fc.nat(9).map((n) => notice(`${n}`)),
  fc.nat(1).map((index): LoopEvent => ({ kind: "started", index, id: "a", name: "t" })),
  fc.nat(1).map((index): LoopEvent => ({ kind: "completed", index, id: "a", isError: false, content: "" })),
);

describe("events from the loop to whoever watches", () => {
  it("are told at once and in order to a listener that keeps up [FR-OUT-01]", () => {
    const heard: LoopEvent[] = [];
    const channel = new EventChannel();
    channel.listen((event) => void heard.push(event));
    const events = [chunk("a"), chunk("b"), notice("c")];
    for (const event of events) expect(channel.tell(event)).toBeUndefined();
    expect(heard).toEqual(events);
  });

  it("are a plain list whatever the listener's pace and the capacity: nothing lost, nothing out of order [FR-OUT-01]", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(anyEvent, { maxLength: 60, size: "max" }),
        fc.integer({ min: 1, max: 5 }),
        fc.infiniteStream(fc.nat(2)),
        fc.boolean(),
        async (events, capacity, pace, waits) => {
          const heard: LoopEvent[] = [];
          const channel = new EventChannel(capacity);
          channel.listen(async (event) => {
            const turns = pace.next().value ?? 0;
            for (let turn = 0; turn < turns; turn += 1) await Promise.resolve();
            heard.push(event);
          });
          for (const event of events) {
            const wait = channel.tell(event);
            if (waits) await wait;
          }
          await channel.settled();
          expect(normal(heard)).toEqual(normal(events));
        },
      ),
    );
  });

  it("keep a start before its chunks and the end after them, although chunks are joined [FR-OUT-01]", async () => {
    const slow = new SlowListener();
    const channel = new EventChannel();
    channel.listen(slow.listen);
    void channel.tell({ kind: "started", index: 0, id: "c0", name: "t" });
    for (const text of ["a", "b", "c"]) void channel.tell(chunk(text));
    void channel.tell(chunk("!", 0, "stderr"));
    void channel.tell({ kind: "completed", index: 0, id: "c0", isError: false, content: "" });
    for (let turn = 0; turn < 6; turn += 1) await slow.letGo();
    expect(slow.heard.map(({ kind }) => kind)).toEqual(["started", "stdout", "stderr", "completed"]);
    expect(slow.heard[1]).toEqual(chunk("abc"));
  });

  it("join chunks of the same call and stream only, up to a length [NFR-PERF-04]", () => {
    expect(joinedText(chunk("a"), chunk("b"))).toEqual(chunk("ab"));
    expect(joinedText({ ...chunk("a"), id: "same" }, { ...chunk("b", 1), id: "same" })).toBeUndefined();
    expect(joinedText({ ...chunk("a"), id: "one" }, { ...chunk("b"), id: "other" })).toBeUndefined();
    expect(joinedText(chunk("a"), chunk("b", 0, "stderr"))).toBeUndefined();
    expect(joinedText(notice("a"), notice("b"))).toBeUndefined();
    expect(joinedText(chunk("x".repeat(LONGEST_JOINED_CHARS)), chunk("b"))).toBeUndefined();
  });

  it("wait for room when the channel is full, and go on once there is some [FR-OUT-01] [NFR-PERF-04]", async () => {
    const slow = new SlowListener();
    const channel = new EventChannel(2);
    channel.listen(slow.listen);
    expect(channel.tell(notice("1"))).toBeUndefined();
    expect(channel.tell(notice("2"))).toBeUndefined();
    const full = channel.tell(notice("3"));
    let isFree = false;
    void Promise.resolve(full).then(() => {
      isFree = true;
    });
    expect(full).toBeInstanceOf(Promise);
    await new Promise(setImmediate);
    expect(isFree).toBe(false);
    await slow.letGo();
    expect(isFree).toBe(true);
  });

  it("take a bounded amount of memory although a tool writes for ever [NFR-PERF-04]", async () => {
    const slow = new SlowListener();
    const channel = new EventChannel(4);
    channel.listen(slow.listen);
    let told = 0;
    const piece = "x".repeat(8_192);
    for (; told < 1_000; told += 1) if (channel.tell(chunk(piece))) break;
    expect(told * piece.length).toBeLessThanOrEqual(5 * LONGEST_JOINED_CHARS);
  });

  it("are not stopped by a listener that throws; it is told nothing more [FR-OUT-01]", async () => {
    const broken: LoopEvent[] = [];
    const heard: LoopEvent[] = [];
    const channel = new EventChannel();
    channel.listen((event) => {
      broken.push(event);
      throw new Error("broken screen");
    });
    channel.listen((event) => {
      broken.push(event);
      return Promise.reject(new Error("broken later"));
    });
    channel.listen((event) => void heard.push(event));
    for (const text of ["1", "2", "3"]) await channel.tell(notice(text));
    await channel.settled();
    expect(broken).toHaveLength(2);
    expect(heard).toHaveLength(3);
  });

  it("do not wait for a listener that stopped [FR-OUT-01]", async () => {
    const slow = new SlowListener();
    const channel = new EventChannel(1);
    const stop = channel.listen(slow.listen);
    void channel.tell(notice("1"));
    const full = channel.tell(notice("2"));
    stop();
    await full;
    await channel.settled();
    expect(slow.heard).toHaveLength(1);
  });

  it("may be told from within a listener, and come after what waits [FR-OUT-01]", () => {
    const heard: string[] = [];
    const channel = new EventChannel();
    channel.listen((event) => {
      heard.push(event.kind);
      if (event.kind === "notice") void channel.tell({ kind: "text", delta: "!" });
    });
    void channel.tell(notice("1"));
    expect(heard).toEqual(["notice", "text"]);
  });
});
