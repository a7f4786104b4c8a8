import { hash } from "node:crypto";
import { type Failure, failure, type Issue } from "@sallyport/protocol";
import { SYSTEM_TENANT } from "../audit/index.ts";
import type { CallRequest, EngineContext } from "../context.ts";
import type { Proof } from "../ports/authority.ts";
import type { Call, KnownCaller } from "./attempt.ts";

const MAX_NAME_CHARS = 255;
const CALL_ID = /^[A-Za-z0-9][A-Za-z0-9_.:-]{0,127}$/;

/** Checks the parts of a request that say what is asked for and by whom; every wrong one is named (E3903). */
export function requestProblem(request: CallRequest): Failure | undefined {
  const { caller } = request;
  const issues: Issue[] = [];
  checkName("/tool", request.tool ?? "", issues);
  checkName("/version", request.version, issues);
  checkName("/operation", request.operation, issues);
  checkName("/idempotencyKey", request.idempotencyKey, issues);
  checkName("/caller/tenant", caller?.tenant ?? "", issues);
  checkName("/caller/agent", caller?.agent ?? "", issues);
  checkName("/caller/user", caller?.user, issues);
  checkName("/caller/session", caller?.session, issues);
  if (request.callId !== undefined && !(typeof request.callId === "string" && CALL_ID.test(request.callId))) {
    issues.push({
      path: "/callId",
      reason: "must be 1 to 128 letters, digits, dots, colons, dashes or underscores",
    });
  }
  const { permissions } = request;
  if (permissions !== undefined && !(Array.isArray(permissions) && permissions.every(isText))) {
    issues.push({ path: "/permissions", reason: "must be a list of capability names" });
  }
  if (caller?.tenant === SYSTEM_TENANT) {
    issues.push({ path: "/caller/tenant", reason: `"${SYSTEM_TENANT}" is the engine's own name` });
  }
  if (request.signal !== undefined && !(request.signal instanceof AbortSignal)) {
    issues.push({ path: "/signal", reason: "must be an AbortSignal" });
  }
  for (const [limit, value] of Object.entries(request.limits ?? {})) {
    if (value === undefined || (Number.isFinite(value) && value > 0)) continue;
    issues.push({ path: `/limits/${limit}`, reason: "must be a number above 0" });
  }
  return issues.length > 0 ? failure("E3903", { issues, message: describe(issues) }) : undefined;
}

function checkName(path: string, value: unknown, issues: Issue[]): void {
  if (value === undefined) return;
  const isName = typeof value === "string" && value.length > 0 && value.length <= MAX_NAME_CHARS;
  if (isName && value.isWellFormed()) return;
  issues.push({ path, reason: `must be a string of 1 to ${MAX_NAME_CHARS} characters` });
}

function isText(value: unknown): boolean {
  return typeof value === "string";
}

function describe(issues: Issue[]): string {
  return `The request is malformed: ${issues.map(({ path, reason }) => `${path} ${reason}`).join("; ")}.`;
}

/** No id that a caller may give has it. */
const MARK = "~";
const TENANT_CHARS = 16;

/**
 * The id a tenant's call is kept under when another tenant's call has the id it was given: so nobody learns that an id is
 * taken elsewhere, and nobody can take one away.
 */
export function tenantId(callId: string, tenant: string): string {
  return `${callId}${MARK}${hash("sha256", tenant).slice(0, TENANT_CHARS)}`;
}

/** The id that the caller gave. */
export function givenId(callId: string): string {
  return callId.split(MARK, 1)[0] ?? callId;
}

/**
 * The id to keep a call under: the given one, unless it is another tenant's. Once it was another's, the tenant's own call
 * stays under its second id also when the first is free again: asking again must find it. Rejects when the store cannot
 * be asked.
 */
export async function idFor(callId: string, tenant: string, context: EngineContext): Promise<string> {
  const own = tenantId(callId, tenant);
  if (await holderOf(own, context)) return own;
  const holder = await holderOf(callId, context);
  return holder === undefined || holder.tenant === tenant ? callId : own;
}

async function holderOf(
  callId: string,
  { inFlight, store }: EngineContext,
): Promise<{ tenant: string } | undefined> {
  return inFlight.get(callId) ?? (await store.calls.get(callId));
}

/**
 * Finds out who calls before anything is written about the call, so that nobody writes into the chain of a tenant by
 * naming it: events go to the chain of the tenant that was shown, else to the installation's own.
 */
export function proveCaller(call: Call, context: EngineContext): KnownCaller {
  const { request, waits } = call;
  const { tenant, user: named } = request.caller;
  // What waits was let in before; a door that shows everything vouches for whom it serves.
  const isVouchedFor = request.token === undefined && request.disclosure === "full" && !request.selfNamed;
  if (waits || isVouchedFor || !context.authority.prove)
    return { chain: tenant, userVerified: isNamedBy(waits?.verified, named) };
  const proof = proofOf(call, context);
  if (proof?.tenant !== tenant) return { chain: proof?.tenant ?? SYSTEM_TENANT, userVerified: false };
  const { user } = proof;
  const isUserOfToken = named === undefined;
  return {
    chain: tenant,
    userVerified: isNamedBy(proof, isUserOfToken ? user : named),
    user: isUserOfToken ? user : undefined,
  };
}

/** Whether it names just this user: a token for somebody else says nothing about the one that a request names. */
function isNamedBy(proof: { user?: string } | undefined, user: string | undefined): boolean {
  return user !== undefined && proof?.user === user;
}

function proofOf({ request, callId }: Call, context: EngineContext): Proof | undefined {
  const { caller, token } = request;
  try {
    return context.authority.prove?.({
      caller,
      ...(token !== undefined && { token }),
      at: context.clock.now(),
    });
  } catch (error) {
    context.errors.report({ error, code: "E3206", callId, stage: "resolve" });
    return undefined;
  }
}
