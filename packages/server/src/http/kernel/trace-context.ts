import type { TraceContext } from "@sallyport/engine/ports";

export type { TraceContext } from "@sallyport/engine/ports";

const PARENT = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-[0-9a-f]{2}(-.*)?$/;
const ZEROES = /^0+$/;
const MAX_PARENT = 256;
const MAX_STATE = 512;
const MAX_MEMBERS = 32;
const MEMBER = /^[a-z0-9][a-z0-9_\-*/@]{0,255}=[\x20-\x2b\x2d-\x3c\x3e-\x7e]{1,256}$/;

/** What a sender says about its trace; undefined when it says nothing that holds. A bad state does not void its parent. */
export function traceContext(parent: unknown, state: unknown): TraceContext | undefined {
  if (typeof parent !== "string" || !isParent(parent)) return undefined;
  return isState(state) ? { traceparent: parent, tracestate: state } : { traceparent: parent };
}

function isParent(text: string): boolean {
  if (text.length > MAX_PARENT) return false;
  const [, version, trace = "", span = "", rest] = PARENT.exec(text) ?? [];
  if (version === undefined || version === "ff" || (version === "00" && rest !== undefined)) return false;
  return !ZEROES.test(trace) && !ZEROES.test(span);
}

function isState(text: unknown): text is string {
  if (typeof text !== "string" || text === "" || text.length > MAX_STATE) return false;
  const members = text.split(",").map((member) => member.trim());
  return members.length <= MAX_MEMBERS && members.every((member) => member === "" || MEMBER.test(member));
}
