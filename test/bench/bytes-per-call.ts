import { createEngine, createMemoryStore, grantAuthority } from "@sallyport/engine";
import type { Store, UnitOfWork } from "@sallyport/engine/ports";
import { pure } from "./subject.ts";

/** A store that tells of every unit before it takes it. */
function watched(store: Store, tell: (unit: UnitOfWork) => void): Store {
  const commit = (unit: UnitOfWork) => {
    tell(unit);
    return store.commit(unit);
  };
  return { ...store, commit };
}

/** How many bytes of text one guarded call of the benchmark's tool hands to its store, measured on a real one. */
export async function bytesPerCall(): Promise<number> {
  let bytes = 0;
  const store = watched(createMemoryStore(), (unit) => {
    bytes += textBytes({ open: unit.open, close: unit.close, outbox: unit.outbox });
    bytes += Buffer.byteLength(unit.audit ?? "");
  });
  const everything = { tenants: ["*"], agents: ["*"], tools: ["*"], operations: ["*"], capabilities: [] };
  const engine = await createEngine({ store, authority: grantAuthority([{ id: "all", ...everything }]) });
  await engine.tools.add(pure);
  bytes = 0;
  const caller = { tenant: "bench", agent: "bench" };
  await engine.call({ tool: "bench.add", operation: "add", input: { a: 2, b: 3 }, caller });
  await engine.close();
  return bytes;
}

/** The strings in a value; numbers and keys are not counted. */
function textBytes(value: unknown): number {
  if (typeof value === "string") return Buffer.byteLength(value);
  if (typeof value !== "object" || value === null) return 0;
  return Object.values(value).reduce((sum: number, item) => sum + textBytes(item), 0);
}
