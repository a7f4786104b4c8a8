import { randomUUID } from "node:crypto";
import {
  CLAIM_MS,
  type ClaimOrder,
  type HeldOrder,
  type HeldWork,
  type Instances,
  type Work,
  type WorkClaims,
  type WorkKind,
} from "@sallyport/engine/ports";
import { approvalOf, callbackOf, instanceOf, queuedCall, type Row } from "../store-rows/rows.ts";
import { recordOf } from "./calls.ts";
import type { Database } from "./database.ts";

/** The processes that use the store, by its own clock. */
export function instancesOf(database: Database): Instances {
  return {
    renew: async ({ instance, ttlMs, about }) => {
      const said = about === undefined ? null : JSON.stringify(about);
      const [row] = await database.leaseRows("SELECT * FROM renew_instance($1, $2, $3)", [
        instance,
        ttlMs,
        said,
      ]);
      const { slot, expiresAt } = instanceOf(row ?? {});
      return { instance, slot, expiresAt };
    },
    leave: async (instance) =>
      void (await database.rows("DELETE FROM instances WHERE instance = $1", [instance])),
    isLive: async (instance) =>
      (await database.rows("SELECT is_live($1) AS live", [instance]))[0]?.live === true,
    list: async () =>
      (await database.rows("SELECT * FROM instances WHERE expires_at > now_ms() ORDER BY slot")).map(
        instanceOf,
      ),
  };
}

interface Kind<Piece> {
  /**
   * $1: the instance, $2: at most so many, $3: how long, $4: names the claim, $5, of callbacks only: what their URLs must
   * not start with. One statement: one winner for each piece.
   */
  claim: string;
  /** For what is held as long as the instance lives: what the claims named by $2 have taken, and are not known here. */
  taken?: string;
  of(row: Row): Piece;
}

/** Read once for a statement. */
const LIVE = "(SELECT instance FROM instances WHERE expires_at > now_ms())";
const IS_LIVE = "EXISTS (SELECT FROM instances WHERE instance = $1 AND expires_at > now_ms())";
const FREE = `(claimed_by IS NULL OR claimed_by NOT IN ${LIVE})`;

function approvalKind(condition: string, { order, take }: { order: string; take: string }): string {
  return `WITH next AS (SELECT approval_id FROM approvals WHERE ${IS_LIVE} AND ${condition}
      ORDER BY ${order} LIMIT $2 FOR UPDATE SKIP LOCKED)
    UPDATE approvals AS a SET ${take} FROM next WHERE a.approval_id = next.approval_id
    RETURNING a.*, $3::double precision AS held, $4::text AS claim`;
}

const HOLD = { order: "expires_at, approval_id", take: "held_until = now_ms() + $3" };

const KINDS: { [Name in WorkKind]: Kind<Work[Name]> } = {
  queued: {
    claim: `WITH next AS (SELECT call_id FROM queue WHERE ${IS_LIVE} AND ${FREE}
        ORDER BY urgency, queued_at, call_id LIMIT $2 FOR UPDATE SKIP LOCKED)
      UPDATE queue AS q SET claimed_by = $1, claim_id = $4 FROM next WHERE q.call_id = next.call_id
      RETURNING q.*, $3::double precision AS held`,
    taken: "SELECT * FROM queue WHERE claimed_by = $1 AND claim_id = ANY ($2::text[])",
    of: queuedCall,
  },
  approved: {
    claim: approvalKind(
      `unattended AND state IN ('approved', 'edited') AND expires_at > now_ms() AND ${FREE}`,
      { order: "position", take: "claimed_by = $1, claim_id = $4" },
    ),
    taken: "SELECT * FROM approvals WHERE claimed_by = $1 AND claim_id = ANY ($2::text[])",
    of: approvalOf,
  },
  expired_approval: {
    claim: approvalKind(
      "state IN ('pending', 'approved', 'edited') AND expires_at <= now_ms() AND held_until <= now_ms()",
      HOLD,
    ),
    of: approvalOf,
  },
  reservation: {
    claim: approvalKind(
      `state = 'reserved' AND (reserved_until <= now_ms() OR reserved_by NOT IN ${LIVE})
        AND held_until <= now_ms()`,
      HOLD,
    ),
    of: approvalOf,
  },
  orphan: {
    claim: `WITH next AS (SELECT call_id FROM calls WHERE ${IS_LIVE} AND phase = 'executing' AND phase <> 'closed'
          AND owner NOT IN ${LIVE}
        ORDER BY started_at, call_id LIMIT $2 FOR UPDATE SKIP LOCKED)
      UPDATE calls AS c SET owner = $1, run_id = $4 || '/' || c.call_id FROM next WHERE c.call_id = next.call_id
      RETURNING c.*, $3::double precision AS held`,
    taken: `SELECT * FROM calls WHERE phase = 'executing' AND phase <> 'closed' AND owner = $1
      AND run_id IN (SELECT claim || '/' || call_id FROM unnest($2::text[]) AS claim)`,
    of: recordOf,
  },
  cancel: {
    claim: `WITH next AS (SELECT call_id FROM calls WHERE ${IS_LIVE} AND phase = 'executing' AND phase <> 'closed'
          AND owner = $1 AND cancel_reason IS NOT NULL AND coalesce(cancel_held_until, 0) <= now_ms()
        ORDER BY started_at, call_id LIMIT $2 FOR UPDATE SKIP LOCKED)
      UPDATE calls AS c SET cancel_held_until = now_ms() + $3 FROM next WHERE c.call_id = next.call_id
      RETURNING c.*, $4::text AS claim`,
    of: recordOf,
  },
  callback: {
    claim: `WITH next AS (SELECT call_id FROM callbacks WHERE ${IS_LIVE} AND state = 'due' AND due_at <= now_ms()
          AND NOT url ^@ ANY ($5::text[])
        ORDER BY due_at, position LIMIT $2 FOR UPDATE SKIP LOCKED),
      was AS (SELECT call_id, due_at FROM callbacks JOIN next USING (call_id))
      UPDATE callbacks AS c SET attempts = attempts + 1, due_at = now_ms() + $3 FROM was
      WHERE c.call_id = was.call_id RETURNING c.*, was.due_at AS was_due_at, $4::text AS claim`,
    of: callbackOf,
  },
};

/** The order is one of which only the index of what is open knows, or none: by call ids all calls would be read. */
const HELD: { [Name in keyof HeldWork]: { from: string; order: string; of(row: Row): HeldWork[Name] } } = {
  executing: {
    from: "calls WHERE phase = 'executing' AND phase <> 'closed' AND owner = $1",
    order: "started_at, call_id",
    of: recordOf,
  },
  queued: { from: "queue WHERE claimed_by = $1", order: "urgency, queued_at, call_id", of: queuedCall },
  approved: {
    from: `approvals WHERE claimed_by = $1 AND unattended AND state IN ('approved', 'edited')
      AND expires_at > now_ms()`,
    order: "expires_at, call_id",
    of: approvalOf,
  },
};

/** $1: the instance, $2: the calls that are left out, $3: at most so many. NOT IN hashes $2 whatever the planner expects. */
export function heldText(kind: keyof HeldWork): string {
  const { from, order } = HELD[kind];
  return `SELECT * FROM ${from} AND call_id NOT IN (SELECT unnest($2::text[])) ORDER BY ${order} LIMIT $3`;
}

/** The order in which claimed rows are handed out: UPDATE gives them in any. */
const ORDER: { [Name in WorkKind]: string[] } = {
  queued: ["urgency", "queued_at", "call_id"],
  approved: ["position"],
  expired_approval: ["expires_at", "approval_id"],
  reservation: ["expires_at", "approval_id"],
  orphan: ["started_at", "call_id"],
  cancel: ["started_at", "call_id"],
  callback: ["was_due_at", "position"],
};

/**
 * Hands out work. A claim whose answer was lost may have taken something all the same: claims have names, and what an
 * unanswered one has taken is handed out by the next one of its kind and instance.
 */
export function workClaims(database: Database): WorkClaims {
  const unanswered = new Map<string, string[]>();
  return {
    async claim<Name extends WorkKind>(order: ClaimOrder<Name>): Promise<Work[Name][]> {
      const { kind, instance, limit, holdMs = CLAIM_MS, except = [] } = order;
      const { claim, taken, of } = KINDS[kind];
      if (limit <= 0) return [];
      const name = `${kind} ${instance}`;
      const id = randomUUID();
      let names = unanswered.get(name) ?? [];
      unanswered.delete(name);
      const onRepeat = () => {
        names = [...names, id];
      };
      try {
        const values = [instance, limit, holdMs, id, ...(kind === "callback" ? [except] : [])];
        const rows = await database.rows(claim, values, onRepeat);
        const known = new Set(rows.map((row) => row.call_id));
        const found = taken && names.length > 0 ? await database.rows(taken, [instance, names]) : [];
        const all = [...rows, ...found.filter((row) => !known.has(row.call_id))];
        return all.sort(by(ORDER[kind])).map(of);
      } catch (error) {
        unanswered.set(name, [...(unanswered.get(name) ?? []), ...names, id]);
        throw error;
      }
    },
    async held<Name extends keyof HeldWork>(order: HeldOrder<Name>): Promise<HeldWork[Name][]> {
      const { kind, instance, limit, except } = order;
      const rows = await database.rows(heldText(kind), [instance, except, Math.max(0, limit)]);
      return rows.map(HELD[kind].of);
    },
    async release({ kind, instance, ids }) {
      const [table, id] = kind === "queued" ? ["queue", "call_id"] : ["approvals", "approval_id"];
      await database.rows(
        `UPDATE ${table} SET claimed_by = NULL, claim_id = NULL
          WHERE claimed_by = $1 AND ${id} = ANY ($2::text[])`,
        [instance, ids],
      );
    },
  };
}

function by(columns: readonly string[]): (one: Row, other: Row) => number {
  return (one, other) => {
    for (const column of columns) {
      const [a, b] = [one[column], other[column]];
      if (a !== b) return typeof a === "number" ? a - Number(b) : String(a) < String(b) ? -1 : 1;
    }
    return 0;
  };
}
