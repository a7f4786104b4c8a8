import { spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { fileURLToPath } from "node:url";
import { CONVERSATIONS_FILE, openSqliteConversations } from "@sallyport/adapters/conversations";
import { openSpill, openSpillKeeping } from "@sallyport/adapters/spill";
import type { Turn } from "@sallyport/loop";
import { expect, it } from "vitest";
import { removeOrphans } from "../../../packages/server/src/chat/keeping/index.ts";
import { countOf, seedOf } from "../../counts.ts";
import { seeded } from "../seeded.ts";

/*
 * Processes that forget conversations are killed with SIGKILL while they do, each in the folder of the one before. What is
 * left must be whole: a history names no output that is gone, and nothing is left of a conversation but files nobody asks
 * for, which go later.
 */

const KILLS = countOf("SALLYPORT_FORGET_KILLS");
const SEED = seedOf();
const VICTIM = fileURLToPath(new URL("./forgetting-victim.ts", import.meta.url));
const LONGEST_START_MS = 90_000;
/** How long forgetting takes, and a little more. */
const WHILE_MS = 12;
const YEAR_MS = 365 * 86_400_000;

/** Kills a victim so many milliseconds after it began to forget for the nth time; gives the signal that ended it. */
function die(args: string[], { nth, afterMs }: { nth: number; afterMs: number }): Promise<string> {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [VICTIM, ...args], { stdio: ["ignore", "pipe", "pipe"] });
    const kill = () => void child.kill("SIGKILL");
    const timer = setTimeout(kill, LONGEST_START_MS);
    let [said, stderr] = ["", ""];
    child.stdout.on("data", (chunk: Buffer) => {
      const before = said.split("\n").length;
      said += chunk;
      if (before <= nth && said.split("\n").length > nth) setTimeout(kill, afterMs);
    });
    child.stderr.on("data", (chunk: Buffer) => {
      stderr += chunk;
    });
    child.once("error", reject);
    child.once("close", (_, signal) => {
      clearTimeout(timer);
      resolve(said.includes("forgets") ? String(signal) : `never forgot anything: ${stderr}`);
    });
  });
}

/** Rows that belong to no conversation, asked of the file itself. */
function danglingRows(folder: string): unknown[] {
  const database = new DatabaseSync(join(folder, CONVERSATIONS_FILE));
  const positions = "(SELECT position FROM conversations)";
  const dangling = ["turns", "batches", "batch_parts"].map(
    (table) => `SELECT '${table}', conversation FROM ${table} WHERE conversation NOT IN ${positions}`,
  );
  const reads =
    "SELECT * FROM file_reads WHERE conversation_id NOT IN (SELECT conversation_id FROM conversations)";
  try {
    const check = database.prepare("PRAGMA integrity_check").all();
    const damage = check.filter((row) => row.integrity_check !== "ok");
    return [...damage, ...[...dangling, reads].flatMap((sql) => database.prepare(sql).all())];
  } finally {
    database.close();
  }
}

function outputsNamed(turns: readonly Turn[]): string[] {
  return turns.flatMap((turn) => (turn.kind === "tool_result" ? [turn.content] : []));
}

/** The folder of a conversation's output, as it is called on disk. */
function holderOf(conversationId: string): string {
  return createHash("sha256").update(conversationId).digest("hex");
}

/** Output that a history names and nobody can read, and folders of output that no history knows. */
async function look(folder: string) {
  const place = join(folder, "output");
  const [conversations, spill] = [
    await openSqliteConversations({ folder, durability: "process" }),
    openSpill(place),
  ];
  try {
    const records = await conversations.list({ limit: Number.MAX_SAFE_INTEGER });
    const unreadable: string[] = [];
    const known = new Set(records.map(({ conversationId }) => holderOf(conversationId)));
    for (const { conversationId: id } of records) {
      const named = outputsNamed(await conversations.turns(id));
      for (const name of named)
        if ((await spill.read(id, name)) === undefined) unreadable.push(`${id} ${name}`);
    }
    const orphans = readdirSync(place).filter((name) => !known.has(name)).length;
    return { unreadable, orphans, records: records.length };
  } finally {
    await conversations.close();
  }
}

async function collect(folder: string) {
  const conversations = await openSqliteConversations({ folder, durability: "process" });
  const kept = { conversations, output: openSpillKeeping(join(folder, "output")) };
  return await removeOrphans(kept, { now: Date.now() + YEAR_MS }).finally(() => conversations.close());
}

it("a process killed while it forgets conversations leaves no history without its output, and output without a history goes later [NFR-REL-01] [NFR-REL-04] [FR-OUT-04]", async () => {
  const folder = mkdtempSync(join(tmpdir(), "sallyport-forgetting-"));
  const random = seeded(SEED);
  let [cutOff, orphans] = [0, 0];
  try {
    // Where a kill lands is random: go on, within bounds, until one cut a removal off.
    for (let life = 0; life < KILLS || (cutOff === 0 && life < 10 * KILLS); life += 1) {
      const moment = { nth: 1 + Math.floor(random() * 4), afterMs: random() * WHILE_MS };
      expect(await die([folder, String(life)], moment), `life ${life}`).toBe("SIGKILL");
      const found = await look(folder);
      expect([...found.unreadable, ...danglingRows(folder)], `seed ${SEED}, life ${life}`).toEqual([]);
      if (found.orphans > orphans) cutOff += 1;
      orphans = found.orphans;
    }
    const before = await look(folder);
    await collect(folder);
    expect(await look(folder)).toEqual({ ...before, orphans: 0 });
    expect(before.records).toBeGreaterThan(0);
    console.log(`${cutOff} deaths left output without a conversation`);
    expect(cutOff).toBeGreaterThan(0);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});
