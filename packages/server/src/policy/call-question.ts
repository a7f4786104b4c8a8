import type { Tools } from "@sallyport/engine";
import { completeCall, type PartialCall } from "@sallyport/engine/host";
import type { PolicyRequest } from "@sallyport/engine/ports";
import {
  type Caller,
  type Failure,
  type IsolationLevel,
  isFailure,
  type JsonValue,
  type Risk,
  type SideEffects,
  type ToolCategory,
} from "@sallyport/protocol";
import { toolFacts } from "./call-facts.ts";

/** A call somebody asks about without making it. */
export interface CallQuestion {
  /** Id, or id@version. */
  tool: string;
  input: unknown;
  operation?: string;
  agent?: string;
  tenant?: string;
  user?: string;
  userVerified?: boolean;
  session?: string;
  at?: number;
  risk?: Risk;
  sideEffects?: SideEffects;
  category?: ToolCategory;
  isolation?: IsolationLevel;
  tags?: string[];
  capabilities?: string[];
}

/** Where tools are looked up, and who asks when nobody is named. */
export interface Asking {
  inCatalogue<Result>(use: (tools: Tools) => Promise<Result>): Promise<Result>;
  caller(flags: { tenant?: string; agent?: string }): Caller;
}

export interface Questioned {
  call: PolicyRequest;
  /** Why nothing is known of the tool: then it is taken for a harmless one, but for what the question says. */
  unknown?: Failure;
}

/** The call as the policy would see it: what the question says, else the manifest, else something harmless. */
export async function questionedCall(question: CallQuestion, asking: Asking): Promise<Questioned> {
  const { id, version } = reference(question.tool);
  const { operation } = question;
  const found = await asking.inCatalogue(async (tools) =>
    tools.resolve({ tool: id, ...(version && { version }), ...(operation && { operation }) }),
  );
  const known: PartialCall = isFailure(found) ? { tool: id, ...(version && { version }) } : toolFacts(found);
  const call = completeCall({ isolation: "LEVEL_0", at: Date.now(), ...known, ...said(question, asking) });
  return isFailure(found) ? { call, unknown: found } : { call };
}

/** Only what was said: a flag that was not given must not hide what the manifest says. */
function said(question: CallQuestion, asking: Asking): PartialCall {
  const { tool: _tool, input, user, tenant, agent, ...rest } = question;
  const caller = asking.caller({ ...(tenant && { tenant }), ...(agent && { agent }) });
  const words = { ...pick(rest), ...caller, ...(user !== undefined && { user }), input: input as JsonValue };
  return words;
}

const SAID = [
  "operation",
  "userVerified",
  "session",
  "at",
  "risk",
  "sideEffects",
  "category",
  "isolation",
  "tags",
  "capabilities",
] as const;

function pick(rest: Omit<CallQuestion, "tool" | "input" | "user" | "tenant" | "agent">): PartialCall {
  return Object.fromEntries(SAID.filter((key) => rest[key] !== undefined).map((key) => [key, rest[key]]));
}

function reference(text: string): { id: string; version: string | undefined } {
  const at = text.lastIndexOf("@");
  return at > 0 ? { id: text.slice(0, at), version: text.slice(at + 1) } : { id: text, version: undefined };
}
