import { createEngine, createMemoryStore, grantAuthority, type UnitOfWork } from "@sallyport/engine";
import { pure } from "./subject.ts";

/** How many bytes of text one guarded call of the benchmark's tool hands to its store, measured on a real one. */
export async function bytesPerCall(): Promise<number> {
  const store = createMemoryStore();
  let units: UnitOfWork[] = [];
  const watched = {
    ...store,
    commit: (unit: UnitOfWork) => {
      units.push(unit);
      return store.commit(unit);
    },
  };
  const everything = {
    id: "all",
    tenants: ["*"],
    agents: ["*"],
    tools: ["*"],
    operations: ["*"],
    capabilities: [],
  };
  const engine = await createEngine({ store: watched, authority: grantAuthority([everything]) });
  await engine.tools.add(pure);
  units = [];
  await engine.call({
    tool: "bench.add",
    operation: "add",
    input: { a: 2, b: 3 },
    caller: { tenant: "bench", agent: "bench" },
  });
  await engine.close();
  return units.reduce((sum, unit) => sum + Buffer.byteLength(JSON.stringify(unit)), 0);
}
