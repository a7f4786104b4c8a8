import type { JournaledCall, OpenBatch } from "@sallyport/engine";
import { type Row, readCallPart, readResult, readSealedPart, readText } from "./cells.ts";

/** Puts an open batch together from its row and its parts; what was sealed goes before what was streamed. */
export function readOpenBatch(conversationId: string, batch: Row, parts: Row[]): OpenBatch {
  const of = (part: string) => parts.filter((row) => row.part === part);
  const streamed = joinDeltas(of("arguments"));
  const sealed = new Map(of("sealed").map(({ number = null, value }) => [number, readSealedPart(value)]));
  const results = new Map(of("result").map(({ number = null, value }) => [number, readResult(value)]));
  const calls = of("call").map(({ number = null, value }): JournaledCall => {
    const result = results.get(number);
    const begun = { index: Number(number), ...readCallPart(value), arguments: streamed.get(number) ?? "" };
    return { ...begun, ...sealed.get(number), ...(result && { result }) };
  });
  return {
    batchId: readText(batch.batch_id),
    conversationId,
    model: readText(batch.model),
    phase: batch.phase === "sealed" ? "sealed" : "streaming",
    openedAt: Number(batch.opened_at),
    text: of("text").reduce((text, { value }) => text + readText(value), ""),
    calls,
  };
}

/** The arguments as far as they came, by the number of the call. */
function joinDeltas(deltas: Row[]): Map<Row[string], string> {
  const joined = new Map<Row[string], string>();
  for (const { number = null, value } of deltas) {
    joined.set(number, (joined.get(number) ?? "") + readText(value));
  }
  return joined;
}
