import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { HOSTILE_REQUESTS } from "./fixtures/hostile-requests.ts";
import { HOSTILE_TUNNELS } from "./fixtures/hostile-tunnels.ts";
import { openRig, type Rig } from "./fixtures/rig.ts";
import { Recorder } from "./fixtures/upstream.ts";

const HOSTILE = [...HOSTILE_REQUESTS, ...HOSTILE_TUNNELS];

let upstream: Recorder;
let rig: Rig;
beforeAll(async () => {
  upstream = await new Recorder().start();
  rig = await openRig(
    { rules: [{ host: "good.test", port: 80 }], connections: 512, limits: { headMs: 300, idleMs: 600 } },
    upstream.port,
  );
});
afterAll(async () => {
  await rig[Symbol.asyncDispose]();
  await upstream[Symbol.asyncDispose]();
});

describe("hostile requests [L3-EXE-2]", () => {
  it("is a corpus worth the name", () => {
    expect(HOSTILE.length).toBeGreaterThanOrEqual(200);
    expect(new Set(HOSTILE.map(([name]) => name)).size).toBe(HOSTILE.length);
  });

  it.concurrent.each(HOSTILE)("%s", async (name, bytes, answer) => {
    const said = await rig.speak(bytes);
    expect(said, name).toMatch(answer);
    expect(said.match(/HTTP\/1\.1 200/g) ?? []).toEqual([]);
  });

  it("let nothing complete through", () => {
    const complete = upstream.received.filter(
      (text) => /\r\n0\r\n\r\n|evil/.test(text) || text.startsWith("GET"),
    );
    expect(complete).toEqual([]);
    expect(rig.dialled.every(({ address, port }) => address === "93.184.216.34" && port === 80)).toBe(true);
  });

  it("survives noise, and handshakes with any byte changed", async () => {
    const alike = [
      "\x05\x01\x00\x05\x01\x00\x03\x09good.test\x00\x50",
      "CONNECT good.test:80 HTTP/1.1\r\n\r\n",
    ];
    const random = chance(fc.readConfigureGlobal().seed ?? 0);
    const attempts = Array.from({ length: 200 }, (_, at) => changed(alike[at % 2] ?? "", random));
    const before = rig.dialled.length;
    await Promise.all(attempts.map((bytes) => rig.speak(bytes)));
    const reached = rig.dialled.slice(before);
    expect(reached.every(({ address, port }) => address === "93.184.216.34" && port === 80)).toBe(true);
  });

  it("still serves who behaves", async () => {
    const said = await rig.speak(
      "GET http://good.test/ HTTP/1.1\r\nHost: good.test\r\nConnection: close\r\n\r\n",
    );
    expect(said).toMatch(/^HTTP\/1\.1 200 OK\r\n[\s\S]*ok$/);
  });
});

/** Numbers in [0, 1) that are the same for the same seed. */
function chance(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}

/** A few bytes replaced, and perhaps a piece cut off. */
function changed(text: string, random: () => number): string {
  const bytes = Buffer.from(text, "latin1");
  for (let change = 0; change < 3; change += 1)
    bytes[Math.floor(random() * bytes.length)] = Math.floor(random() * 256);
  return bytes.subarray(0, Math.ceil(random() * 1.5 * bytes.length)).toString("latin1");
}
