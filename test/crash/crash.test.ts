import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { countOf, seedOf } from "../counts.ts";
import { breaches, Ledger, unfinished } from "./ledger.ts";
import { live } from "./life.ts";
import type { Death } from "./protocol.ts";
import { seeded } from "./seeded.ts";

/*
 * Processes with several calls under way are killed with SIGKILL at seeded points: before and after every kind of write
 * to the store, inside a tool before and after its effect, and from outside at any moment. Each life goes on in the same
 * folder, first making again whatever was never answered. Then the store is compared with what was acknowledged and with
 * the traces the tools left outside.
 */

const KILLS = countOf("SALLYPORT_CALL_KILLS");
const SEED = seedOf();
const FAMILIES = 2;

function deathFor(random: () => number, turn: number): Death {
  const when = random() < 0.5 ? "before" : "after";
  // The first writes register the tools; every number from there on is some call's intent or outcome.
  if (turn % 3 === 0) return { kind: "at write", nth: 1 + Math.floor(random() * 40), when };
  if (turn % 3 === 1) return { kind: "in tool", nth: 1 + Math.floor(random() * 25), when };
  return { kind: "from outside", afterMs: Math.floor(random() * 120) };
}

describe("a process killed at any moment", () => {
  it.concurrent.each(Array.from({ length: FAMILIES }, (_, family) => family))(
    "loses no acknowledged outcome and no accepted call, does nothing twice and nothing unrecorded (family %i) [NFR-REL-04] [FR-RES-04] [L3-EXE-5] [D-4]",
    async (family) => {
      const folder = mkdtempSync(join(tmpdir(), "sallyport-crash-"));
      const files = { folder: join(folder, "state"), witness: join(folder, "witness.jsonl") };
      const random = seeded(SEED + family);
      const ledger = new Ledger();
      let kills = 0;
      // Where a kill lands is random: go on, within bounds, until every kind of outcome was seen.
      const isShort = () => !ledger.hasSuccess || ledger.unknown === 0 || ledger.accepted.size === 0;
      const least = KILLS / FAMILIES;
      for (let turn = 0; turn < least || (isShort() && turn < 10 * least); turn += 1) {
        const life = await live({
          ...files,
          durability: turn % 5 === 0 ? "power" : "process",
          lanes: 6,
          unanswered: ledger.unanswered(),
          from: ledger.lastNumber + 1,
          death: deathFor(random, turn),
        });
        expect(life.signal, `turn ${turn} of family ${family}: ${life.stderr}`).toBe("SIGKILL");
        kills += 1;
        ledger.take(life);
        if (turn % 25 === 24)
          expect(await breaches(files, ledger), `seed ${SEED}, family ${family}, turn ${turn}`).toEqual([]);
      }
      const plan = { ...files, durability: "process" as const, lanes: 0, from: ledger.lastNumber + 1 };
      const last = await live({ ...plan, unanswered: ledger.unanswered(), death: { kind: "of age" } });
      expect(last.signal, last.stderr).toBeNull();
      ledger.take(last);
      expect(await breaches(files, ledger), `seed ${SEED}, family ${family}`).toEqual([]);
      expect(await unfinished(files)).toEqual([]);
      const answers = [...ledger.answered.values()];
      console.log(
        `family ${family}: ${kills} kills, ${answers.length} answers, ` +
          `${answers.filter(({ status }) => status === "success").length} successes, ` +
          `${answers.filter(({ replayed }) => replayed).length} replayed, ${ledger.accepted.size} accepted, ${ledger.unknown} unknown, ${ledger.undone} undone`,
      );
      expect(ledger.hasSuccess).toBe(true);
      expect(ledger.unknown).toBeGreaterThan(0);
      expect(ledger.accepted.size).toBeGreaterThan(0);
      rmSync(folder, { recursive: true, force: true });
    },
  );
});
