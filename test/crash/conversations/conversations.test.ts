import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { CONVERSATIONS_FILE, openSqliteConversations } from "@sallyport/adapters/conversations";
import { describe, expect, it } from "vitest";
import { countOf, seedOf } from "../../counts.ts";
import { seeded } from "../seeded.ts";
import { Expected } from "./expected.ts";
import { live } from "./life.ts";
import type { Plan } from "./protocol.ts";

/*
 * Processes that journal batches in several conversations are killed with SIGKILL at seeded moments. Each life goes on in
 * the folder of the one before, and what is on disk is compared with what was acknowledged after every death.
 */

const KILLS = countOf("SALLYPORT_JOURNAL_KILLS");
const SEED = seedOf();
const FAMILIES = 2;
/** Several steps at least, also where each waits for a slow disk. */
const LONGEST_MS = 250;

/** Asked of the file itself, below everything that promises it. */
function problemsOf(folder: string): unknown[] {
  const database = new DatabaseSync(join(folder, CONVERSATIONS_FILE));
  try {
    const doubled = "SELECT conversation FROM batches GROUP BY conversation HAVING count(*) > 1";
    const orphans = "SELECT * FROM batch_parts WHERE conversation NOT IN (SELECT conversation FROM batches)";
    const check = database.prepare("PRAGMA integrity_check").all();
    const damage = check.filter((row) => row.integrity_check !== "ok");
    return [...damage, ...[doubled, orphans].flatMap((sql) => database.prepare(sql).all())];
  } finally {
    database.close();
  }
}

async function dieAndLook(plan: Plan, { afterMs, expected }: { afterMs: number; expected: Expected }) {
  const life = await live(plan, afterMs);
  expect(life.signal, `life ${plan.life}: ${life.stderr}`).toBe("SIGKILL");
  await expected.hear(life.reports);
  const found = await openSqliteConversations({ folder: plan.folder, durability: "process" });
  const breaches = await expected.breaches(found, plan.conversationIds).finally(() => found.close());
  expect([...breaches, ...problemsOf(plan.folder)], `seed ${SEED}, life ${plan.life}`).toEqual([]);
}

describe("a process killed while it journals batches", () => {
  it.concurrent.each(Array.from({ length: FAMILIES }, (_, family) => family))(
    "loses no acknowledged step, doubles no turn, and leaves one open batch at most (family %i) [FR-RES-01] [FR-RES-04] [NFR-REL-01] [NFR-REL-04]",
    async (family) => {
      const folder = mkdtempSync(join(tmpdir(), "sallyport-conversations-crash-"));
      const random = seeded(SEED + family);
      const expected = new Expected();
      try {
        const least = KILLS / FAMILIES;
        for (let life = 0; life < least || (!expected.acknowledged && life < 10 * least); life += 1) {
          const durability = life % 3 === 0 ? "power" : "process";
          const conversationIds = ["a", "b", "c"].map((name) => `${name}${life >> 3}`);
          const plan: Plan = { folder, durability, conversationIds, life };
          await dieAndLook(plan, { afterMs: random() * LONGEST_MS, expected });
        }
        const { acknowledged, underWay } = expected;
        console.log(
          `family ${family}: ${acknowledged} steps acknowledged, ${JSON.stringify(underWay)} under way`,
        );
        expect(acknowledged).toBeGreaterThan(0);
      } finally {
        rmSync(folder, { recursive: true, force: true });
      }
    },
  );
});
