import type { DatabaseSync, StatementSync } from "node:sqlite";
import { type StateEntry, type StateScope, type StateSnapshot, snapshotGone } from "@sallyport/engine/ports";
import type { JsonValue } from "@sallyport/protocol";

const SCOPE_VERSION = "SELECT version, floor FROM state_scopes WHERE tenant_id = ? AND tool_id = ?";

const GET_STATE = `SELECT version, value FROM state
  WHERE scope_id = (SELECT scope_id FROM state_scopes WHERE tenant_id = ? AND tool_id = ?)
    AND key = ? AND version <= ?
  ORDER BY version DESC LIMIT 1`;

const LIST_KEYS = `SELECT key FROM state AS seen
  WHERE scope_id = (SELECT scope_id FROM state_scopes WHERE tenant_id = ?1 AND tool_id = ?2)
    AND key >= ?3 AND (?4 IS NULL OR key < ?4) AND value IS NOT NULL
    AND version = (SELECT max(version) FROM state
      WHERE scope_id = seen.scope_id AND key = seen.key AND version <= ?5)
  ORDER BY key LIMIT ?6`;

const COUNT_WRITTEN = `SELECT count(*) AS entries FROM state
  WHERE call_id = ? AND scope_id = (SELECT scope_id FROM state_scopes WHERE tenant_id = ? AND tool_id = ?)`;

/** Reads transactional state at a version, synchronously. A scope nobody wrote to is at version 0. */
export class StateReads {
  readonly #version: StatementSync;
  readonly #get: StatementSync;
  readonly #keys: StatementSync;
  readonly #written: StatementSync;

  constructor(database: DatabaseSync) {
    this.#version = database.prepare(SCOPE_VERSION);
    this.#get = database.prepare(GET_STATE);
    this.#keys = database.prepare(LIST_KEYS);
    this.#written = database.prepare(COUNT_WRITTEN);
  }

  version({ tenant, tool }: StateScope): number {
    return Number(this.#version.get(tenant, tool)?.version ?? 0);
  }

  get({ scope, version }: StateSnapshot, key: string): StateEntry | undefined {
    const row = this.#get.get(scope.tenant, scope.tool, key, version);
    this.#requireKept({ scope, version });
    if (typeof row?.value !== "string") return undefined;
    const value: JsonValue = JSON.parse(row.value);
    return { value, version: Number(row.version) };
  }

  keys({ scope, version }: StateSnapshot, { prefix, limit }: { prefix: string; limit: number }): string[] {
    const end = endOfPrefix(prefix) ?? null;
    const rows = this.#keys.all(scope.tenant, scope.tool, prefix, end, version, Math.max(0, limit));
    this.#requireKept({ scope, version });
    return rows.map((row) => String(row.key));
  }

  /** To be called after reading: the writer may have swept in between, and what was read is wrong then. */
  #requireKept({ scope, version }: StateSnapshot): void {
    const floor = this.#version.get(scope.tenant, scope.tool)?.floor ?? 0;
    if (version < Number(floor)) throw snapshotGone(scope);
  }

  writtenBy({ tenant, tool }: StateScope, callId: string): number {
    return Number(this.#written.get(callId, tenant, tool)?.entries ?? 0);
  }
}

/** The first text in code point order that no longer starts with the prefix; undefined when there is none. */
export function endOfPrefix(prefix: string): string | undefined {
  const points = Array.from(prefix, (character) => character.codePointAt(0) ?? 0);
  while (points.at(-1) === 0x10ffff) points.pop();
  const last = points.pop();
  if (last === undefined) return undefined;
  return String.fromCodePoint(...points, last === 0xd7ff ? 0xe000 : last + 1);
}
