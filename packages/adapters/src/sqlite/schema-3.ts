/**
 * Accepted calls that wait for room, and who is to be told how a call ended. A queued call has its journal row's
 * position, so the queue needs no order of its own and paging goes on behind a call that has left. Its order stands
 * last in the row, so that lists never read it. Callbacks are looked for by the time they are due; those that are
 * settled are in no index but the call's.
 *
 * The tenant's index of the journal also holds the agent: the calls of one agent are found without reading those of
 * the others. An index of the agent's own would be faster still where an agent has few calls among very many, but
 * every call would pay for it.
 */
export const THIRD_SCHEMA = `
CREATE TABLE queue (
  position INTEGER PRIMARY KEY,
  call_id TEXT NOT NULL,
  tenant_id TEXT NOT NULL,
  agent_did TEXT NOT NULL,
  tool_id TEXT NOT NULL,
  priority TEXT NOT NULL,
  queued_at INTEGER NOT NULL,
  call_order TEXT NOT NULL
);

CREATE TABLE callbacks (
  position INTEGER PRIMARY KEY,
  call_id TEXT NOT NULL UNIQUE,
  tenant_id TEXT NOT NULL,
  url TEXT NOT NULL,
  state TEXT NOT NULL,
  attempts INTEGER NOT NULL,
  due_at INTEGER NOT NULL,
  problem TEXT
);
CREATE INDEX callbacks_due ON callbacks (due_at) WHERE state = 'due';

DROP INDEX invocations_by_tenant;
CREATE INDEX invocations_by_tenant ON tool_invocations (tenant_id, position, agent_did);
`;
