import { existsSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { attack } from "./fixtures/judge.ts";
import { sharedHouse } from "./fixtures/shared-house.ts";
import { BODY_BYTES, CORPUS, SILENT } from "./hostile/index.ts";
import type { Holdings } from "./fixtures/processes.ts";

const house = sharedHouse(`
http: { requestSeconds: 2, idleSeconds: 5, bodyBytes: ${BODY_BYTES} }
log: { level: debug }
`);

const MIB = 1024 * 1024;

describe("the corpus", () => {
  it("is at least 200 requests, each with a name of its own", () => {
    const all = [...Object.values(CORPUS).flat(), ...SILENT];
    expect(new Set(all.map(({ name }) => name)).size).toBe(all.length);
    expect(all.length).toBeGreaterThanOrEqual(200);
  });
});

let before: Holdings;
beforeAll(async () => {
  for (let i = 0; i < 5; i++) await house().invoke("echo", {});
  before = house().server.holdings;
  console.log(before);
});

for (const [kind, cases] of Object.entries(CORPUS)) {
  describe(kind, () => {
    it.each(cases)("$name", async (one) => {
      await attack(house(), one);
      const good = await house().invoke("echo", { after: one.name });
      expect(good).toMatchObject({ status: 200, body: { result: { after: one.name } } });
    });
    afterAll(async () => { const h = house().server.holdings; console.log(kind, h.sockets, h.files.length, h.residentBytes/MIB, h.files.map(f => f.replace(/\d+/g, "")).reduce((m: Record<string,number>, f) => ({ ...m, [f]: (m[f] ?? 0) + 1 }), {})); });
  });
}
describe("silent", () => {
  it.concurrent.each(SILENT)("$name", async (one) => { await attack(house(), one); });
});
afterAll(async () => { const h = house().server.holdings; console.log(existsSync(house().path("hostile.txt")), h.sockets, h.files.length, h.residentBytes/MIB);console.log(house().server.stderr.split("\n").filter(l => !/"level":"(debug|info)"/.test(l)).slice(0,20)); console.log(house().server.stderr.length) });
