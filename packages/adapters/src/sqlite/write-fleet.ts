import { randomUUID } from "node:crypto";
import type { DatabaseSync, StatementSync } from "node:sqlite";
import type { Work, WorkKind } from "@sallyport/engine/ports";
import { approvalOf, callbackOf, queuedCall, type Row } from "../store-rows/rows.ts";
import { CALL_COLUMNS, recordOf } from "./call-rows.ts";
import type { ClaimJob, FleetJob, Outcome, RenewJob } from "./messages.ts";
import { preparedOnce } from "./reading.ts";

/** How work of one kind is claimed: what nobody holds, in its order; how it is held; and what the claimer is given. */
interface ClaimSql {
  find: string;
  take: string;
  read: string;
}

/** Whether no live instance has the name that the expression gives. */
function isFree(name: string): string {
  return `(${name} IS NULL OR NOT EXISTS (
    SELECT 1 FROM instances WHERE instance_id = ${name} AND expires_at > :now))`;
}

function approvalClaim(where: string, take: string): ClaimSql {
  return {
    find: `SELECT position AS id FROM approvals INDEXED BY approvals_open
      WHERE state IN ('pending', 'approved', 'edited', 'reserved') AND ${where} ORDER BY position LIMIT :limit`,
    take: `UPDATE approvals SET ${take} WHERE position = :id`,
    read: "SELECT record FROM approvals WHERE position = :id",
  };
}

const READ_CALL = `SELECT ${CALL_COLUMNS} FROM tool_invocations WHERE invocation_id = :id`;

const CLAIMS: { [Kind in WorkKind]: ClaimSql } = {
  queued: {
    find: `SELECT position AS id FROM queue INDEXED BY queue_by_urgency WHERE ${isFree("claimed_by")}
      ORDER BY urgency DESC, queued_at, call_id LIMIT :limit`,
    take: "UPDATE queue SET claimed_by = :instance WHERE position = :id",
    // The order stands last in the row and may be large.
    read: "SELECT call_id, tenant_id, agent_did, tool_id, priority, queued_at FROM queue WHERE position = :id",
  },
  approved: approvalClaim(
    `state IN ('approved', 'edited') AND unattended = 1 AND expires_at > :now AND ${isFree("claimed_by")}`,
    "claimed_by = :instance",
  ),
  expired_approval: approvalClaim(
    "state IN ('pending', 'approved', 'edited') AND expires_at <= :now AND held_until <= :now",
    "held_until = :until",
  ),
  reservation: approvalClaim(
    `state = 'reserved' AND held_until <= :now
      AND (record ->> '$.standing.until' <= :now OR ${isFree("record ->> '$.standing.owner'")})`,
    "held_until = :until",
  ),
  orphan: {
    find: `SELECT invocation_id AS id FROM tool_invocations INDEXED BY invocations_open
      WHERE phase <> 'closed' AND phase = 'executing' AND ${isFree("facts ->> '$.owner'")}
      ORDER BY position LIMIT :limit`,
    take: `UPDATE tool_invocations SET facts = json_set(facts, '$.owner', :instance, '$.runId', :run)
      WHERE invocation_id = :id`,
    read: READ_CALL,
  },
  cancel: {
    find: `SELECT call_id AS id FROM cancellations JOIN tool_invocations ON invocation_id = call_id
      WHERE held_until <= :now AND phase = 'executing' AND facts ->> '$.owner' = :instance
      ORDER BY call_id LIMIT :limit`,
    take: "UPDATE cancellations SET held_until = :until WHERE call_id = :id",
    read: READ_CALL,
  },
  callback: {
    find: `SELECT position AS id FROM callbacks INDEXED BY callbacks_due
      WHERE state = 'due' AND due_at <= :now AND :others ORDER BY due_at, position LIMIT :limit`,
    take: "UPDATE callbacks SET attempts = attempts + 1, due_at = :until WHERE position = :id",
    read: "SELECT * FROM callbacks WHERE position = :id",
  },
};

const DECODE: { [Kind in WorkKind]: (row: Row) => Work[Kind] } = {
  queued: queuedCall,
  approved: approvalOf,
  expired_approval: approvalOf,
  reservation: approvalOf,
  orphan: recordOf,
  cancel: recordOf,
  callback: callbackOf,
};

/** Calls that have ended are forgotten with the next claim, so that ending a call costs nothing more. */
const FORGET_ENDED = `DELETE FROM cancellations WHERE NOT EXISTS (
  SELECT 1 FROM tool_invocations WHERE invocation_id = call_id AND phase = 'executing')`;

const RELEASE = {
  queued: `UPDATE queue SET claimed_by = NULL
    WHERE position = (SELECT position FROM tool_invocations WHERE invocation_id = ?) AND claimed_by = ?`,
  approved: "UPDATE approvals SET claimed_by = NULL WHERE approval_id = ? AND claimed_by = ?",
};

const PUT_INSTANCE = `INSERT INTO instances (instance_id, slot, expires_at, started_at, about)
  VALUES (:instance, :slot, :expiresAt, :now, coalesce(:about, '{}'))
  ON CONFLICT DO UPDATE SET expires_at = :expiresAt, about = coalesce(:about, about) RETURNING slot`;

/**
 * What instances do: leases, and claims of work. All of it happens in the writer's transactions and by the writer's clock,
 * so a piece of work has one winner.
 */
export class FleetWriter {
  readonly #sql: (text: string) => StatementSync;

  /** Takes over from whoever wrote before: the folder's lock proves that those instances are gone. */
  constructor(database: DatabaseSync) {
    this.#sql = preparedOnce(database);
    database.exec("DELETE FROM instances");
  }

  apply(job: FleetJob): Outcome {
    switch (job[0]) {
      case "renew":
        return this.#renew(job);
      case "claim":
        return ["claimed", this.#claim(job)];
      case "leave":
        this.#sql("DELETE FROM instances WHERE instance_id = ?").run(job[1]);
        break;
      case "release":
        for (const id of job[3]) this.#sql(RELEASE[job[1]]).run(id, job[2]);
    }
    return ["applied", 0, "", 0];
  }

  /** A lease that has expired is gone with its slot, its own included. */
  #renew([, instance, ttlMs, about]: RenewJob): Outcome {
    const now = Date.now();
    this.#sql("DELETE FROM instances WHERE expires_at <= ?").run(now);
    const taken = this.#sql("SELECT slot FROM instances ORDER BY slot").all();
    const free = taken.findIndex(({ slot }, index) => slot !== index);
    const slot = free === -1 ? taken.length : free;
    const expiresAt = now + ttlMs;
    const kept = this.#sql(PUT_INSTANCE).get({ instance, slot, expiresAt, now, about });
    return ["lease", Number(kept?.slot), expiresAt];
  }

  #claim([, kind, instance, limit, holdMs, except]: ClaimJob): Work[WorkKind][] {
    const now = Date.now();
    const live = "SELECT 1 FROM instances WHERE instance_id = ? AND expires_at > ?";
    if (limit <= 0 || !this.#sql(live).get(instance, now)) return [];
    if (kind === "cancel") this.#sql(FORGET_ENDED).run();
    const { find, take, read } = CLAIMS[kind];
    const starts = except.map((start, index) => [`except${index}`, start]);
    const others = except.map(
      (_, index) => `AND NOT substr(url, 1, length(:except${index})) = :except${index}`,
    );
    return this.#sql(find.replace("AND :others", others.join(" ")))
      .all({ now, instance, limit, ...Object.fromEntries(starts) })
      .map(({ id = null }) => {
        this.#sql(take).run({ id, instance, until: now + holdMs, run: randomUUID() });
        return DECODE[kind](this.#sql(read).get({ id }) ?? {});
      });
  }
}
