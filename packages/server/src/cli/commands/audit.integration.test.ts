import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable, Writable } from "node:stream";
import { openSqliteStore } from "@sallyport/adapters/sqlite";
import { auditBody } from "@sallyport/engine/chain";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { main } from "../main.ts";

const EVENTS = 2_000;
let cwd: string;

beforeEach(async () => {
  cwd = mkdtempSync(join(tmpdir(), "sallyport-audit-"));
  const store = await openSqliteStore({ folder: join(cwd, ".sallyport") });
  const common = JSON.stringify({ agent: "two\u2028lines\u2029\r", callId: "c" });
  const event = (n: number) => JSON.stringify({ eventId: `c:${n}`, state: "DECLARED", timestamp: n });
  const units = Array.from({ length: EVENTS / 2 }, (_, n) => ({
    tenant: "local",
    strand: n % 2,
    audit: auditBody("local", [event(2 * n), event(2 * n + 1)], common),
  }));
  await Promise.all(units.map((unit) => store.commit(unit)));
  await store.close();
});
afterEach(() => rmSync(cwd, { recursive: true }));

/** Takes the chunks of stdout; the first one fails when nobody reads. */
function collector(isGone = false): { stdout: Writable; chunks: string[]; most: () => number } {
  const chunks: string[] = [];
  let most = 0;
  const stdout = new Writable({
    highWaterMark: 1,
    decodeStrings: false,
    write(chunk: string, _, done) {
      chunks.push(chunk);
      most = Math.max(most, stdout.writableLength);
      setImmediate(done, isGone ? Object.assign(new Error("EPIPE"), { code: "EPIPE" }) : undefined);
    },
  });
  stdout.on("error", () => {});
  return { stdout, chunks, most: () => most };
}

async function run(argv: string[], { stdout, chunks } = collector()) {
  const code = await main(argv, { stdin: Readable.from([]), stdout, stderr: collector().stdout, cwd });
  return { code, out: chunks.join("") };
}

describe("sallyport audit export", () => {
  it("verifies, and does not when it was cut off or emptied [R1-8.1]", async () => {
    const { code, out } = await run(["audit", "export"]);
    expect([code, out.trimEnd().split("\n").length]).toEqual([0, EVENTS + 1]);
    const file = join(cwd, "events.jsonl");
    const verify = async (text: string) => {
      writeFileSync(file, text);
      return (await run(["audit", "verify", "--file", file])).code;
    };
    expect(await verify(out)).toBe(0);
    expect(await verify("")).toBe(1);
    expect(await verify(out.slice(0, out.lastIndexOf("\n", out.length - 2) + 1))).toBe(1);
    expect(await verify(out.replace(".declared", ".completed"))).toBe(1);
    const withoutStrand = out.split("\n").filter((line) => !line.includes('"strand":1,"sequence"'));
    expect(await verify(withoutStrand.join("\n"))).toBe(1);
    expect((await run(["audit", "verify", "--file", file, "--tenant", "typo"])).code).toBe(2);
  });

  it("is refused for a tenant without events", async () => {
    expect(await run(["audit", "export", "--tenant", "typo"])).toEqual({ code: 2, out: "" });
  });

  it("holds one chunk at a time, and ends when nobody reads", async () => {
    const slow = collector();
    await run(["audit", "export"], slow);
    expect(slow.chunks.length).toBeGreaterThan(2);
    expect(slow.most()).toBe(Math.max(...slow.chunks.map((chunk) => chunk.length)));
    const gone = collector(true);
    expect((await run(["audit", "export"], gone)).code).toBe(0);
    expect(gone.chunks).toHaveLength(1);
  });
});
