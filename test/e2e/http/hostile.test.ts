import { existsSync } from "node:fs";
import { beforeAll, describe, expect, it } from "vitest";
import { attack } from "./fixtures/judge.ts";
import { type Holdings, kindsOf, settledHoldings } from "./fixtures/processes.ts";
import { sharedServer } from "./fixtures/shared-server.ts";
import { SOON } from "./fixtures/soon.ts";
import { BODY_BYTES, CORPUS, SILENT } from "./hostile/index.ts";

const server = sharedServer(`
http: { requestSeconds: 2, idleSeconds: 5, bodyBytes: ${BODY_BYTES} }
log: { level: debug }
`);

/** What a server that was fed many megabytes may keep of them until it needs the room. */
const KEPT_BYTES = 256 * 1024 * 1024;

let before: Holdings;
beforeAll(async () => {
  for (let warm = 0; warm < 3; warm += 1) await goodCall("first");
  before = await settledHoldings(server().child.pid);
}, 180_000);

async function goodCall(note: string): Promise<void> {
  const answer = await server().invoke("echo", { note });
  expect(answer).toMatchObject({ status: 200, body: { status: "success", result: { note } } });
}

async function expectNothingLeft(): Promise<void> {
  // A call each time: the thread that was warm before has to be so again, and one that was too much ends by itself.
  const held = async () => {
    await goodCall("anything left?");
    return kindsOf(await settledHoldings(server().child.pid));
  };
  await expect.poll(held, SOON).toEqual(kindsOf(before));
  const { residentBytes } = server().child.holdings;
  expect(residentBytes - before.residentBytes).toBeLessThan(KEPT_BYTES);
  expect(server().child.logged(/unhandled|uncaught|defect|"level":"(error|fatal)"/i)).toEqual([]);
  expect(server().child.logged(new RegExp(server().operatorKey))).toEqual([]);
  expect(existsSync(server().path("hostile.txt"))).toBe(false);
}

describe("the corpus", () => {
  it("has at least 200 requests, each with a name of its own", () => {
    const names = [...Object.values(CORPUS).flat(), ...SILENT].map(({ name }) => name);
    expect(names.length).toBeGreaterThanOrEqual(200);
    expect(new Set(names).size).toBe(names.length);
  });
});

describe.each(Object.entries(CORPUS))("hostile requests: %s", (_kind, cases) => {
  it.each(cases)("$name", async (one) => {
    await attack(server(), one);
    await goodCall(one.name);
  });

  it("leave nothing open behind", expectNothingLeft);
});

describe("hostile requests: silence", () => {
  it.concurrent.each(SILENT)("$name", async (one) => attack(server(), one));

  it("leave nothing open behind", async () => {
    await goodCall("after all of them");
    await expectNothingLeft();
  });
});
