import { appendFile, mkdir, mkdtemp, readFile, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { outgoing, sampleEvent } from "@sallyport/engine/testing";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { createJsonlSink } from "./jsonl-sink.ts";

let folder = "";
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "sallyport-jsonl-"));
});
afterEach(() => rm(folder, { recursive: true }));

const event = (id: string) => outgoing(sampleEvent(id, { data: { text: "two\nlines" } }));

async function ids(path: string): Promise<string[]> {
  const lines = (await readFile(path, "utf8")).split("\n");
  return lines.flatMap((line) => (line === "" ? [] : JSON.parse(line).id));
}

describe("the JSONL sink", () => {
  it("keeps one line per event, in the order sent, in a file only the owner can read", async () => {
    const path = join(folder, "events.jsonl");
    const sink = createJsonlSink(path);
    await Promise.all([sink.send([event("a"), event("b")]), sink.send([event("c")]), sink.send([])]);
    expect(await ids(path)).toEqual(["a", "b", "c"]);
    expect((await stat(path)).mode & 0o777).toBe(0o600);
  });

  it("ends a line a crash left half written, so that it spoils only itself", async () => {
    const path = join(folder, "events.jsonl");
    await createJsonlSink(path).send([event("a")]);
    await appendFile(path, '{"specversion":"1.0","id":"to');
    await createJsonlSink(path).send([event("b")]);
    const lines = (await readFile(path, "utf8")).split("\n");
    expect(lines[1]).toBe('{"specversion":"1.0","id":"to');
    expect(lines.flatMap((line, at) => (at === 1 || line === "" ? [] : [JSON.parse(line).id]))).toEqual([
      "a",
      "b",
    ]);
  });

  it("rejects when the file cannot be written, and works again once it can [L3-AUD-1]", async () => {
    const path = join(folder, "later", "events.jsonl");
    const sink = createJsonlSink(path);
    await expect(sink.send([event("a")])).rejects.toThrow(/ENOENT/);
    await mkdir(join(folder, "later"));
    await sink.send([event("a")]);
    expect(await ids(path)).toEqual(["a"]);
  });

  it("keeps every line whole when several processes append large batches to one file [L3-EVT-1]", async () => {
    const path = join(folder, "events.jsonl");
    const batch = (sink: number) =>
      Array.from({ length: 200 }, (_, n) =>
        outgoing(sampleEvent(`${sink}-${n}`, { data: { text: "x".repeat(9_000) } })),
      );
    const sent = [1, 2, 3].map((sink) => createJsonlSink(path).send(batch(sink)));
    await Promise.all(sent);
    expect(new Set(await ids(path)).size).toBe(600);
  });
});
