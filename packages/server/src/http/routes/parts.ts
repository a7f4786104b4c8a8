import type { Approvals, Engine, Grants, LiveFeed, SigningKey, TokenRules, Tools } from "@sallyport/engine";
import type { AuditReader, Authority, CallReader, Clock, Ids, Tier } from "@sallyport/engine/ports";
import type { Caller, Failure, JsonObject, ReadinessResponse } from "@sallyport/protocol";
import type { Gateway } from "../../gateway/gateway.ts";
import type { OutlineReader } from "../../runtime/store.ts";
import type { Principal } from "../principal.ts";

/** A call's news, as far as a reader needs them. */
export type Feed = Pick<LiveFeed, "epoch" | "last" | "ended" | "after" | "next">;

/** What the routes use of the engine. */
export interface DoorEngine
  extends Pick<Engine, "call" | "accept" | "standing" | "running" | "cancelCall" | "resume" | "revokeToken"> {
  watch(callId: string, current?: Feed): Promise<Feed | undefined>;
  readonly tools: Pick<Tools, "list" | "definitions" | "resolve">;
  readonly approvals: Pick<Approvals, "list" | "get" | "approve" | "deny" | "edit">;
  readonly grants: Pick<Grants, "list" | "get" | "revoke">;
}

/** Something without which no call can be taken. */
export interface ReadinessCheck {
  name: string;
  /** What is missing; undefined when nothing is. A rejection, or no answer in time, counts as missing. */
  check(): string | undefined | Promise<string | undefined>;
}

/** A call to try the door with. */
export interface ExampleCall {
  tool: string;
  /** Left out where the tool has only one. */
  operation?: string;
  input: JsonObject;
}

/** The readings for a Prometheus server. */
export interface MetricsPart {
  render(): string | Promise<string>;
  access: "public" | "operator";
}

/** Everything the routes are made of. Nothing here reads a file, a clock of its own or the environment. */
export interface RouteContext {
  engine: DoorEngine;
  /** A store that has outlines is not asked for whole calls to list them. */
  calls: Pick<CallReader, "list"> & Partial<OutlineReader>;
  audit: AuditReader;
  /** Says which tools a caller may know of. */
  authority: Pick<Authority, "accessRefusal">;
  /** Whether the operator lets nobody call a tool for now. Left out: none is switched off. */
  isSwitchedOff?(tool: string): boolean;
  /** What a gateway serves. Left out: tools come from modules. */
  gateway?: Pick<Gateway, "domain" | "tool" | "health" | "workers"> | undefined;
  /** Where runs are written down, where the domain wants it. */
  log?: { info(facts: object, message: string): void } | undefined;
  /** A call that would be allowed now, for a page to show; undefined when there is none. */
  example?(): Promise<ExampleCall | undefined>;
  /** `open`: whoever reaches the door is believed to be the agent it says. `token`: each needs a capability token. */
  callers: "open" | "token";
  /** Whom an open door serves when the request does not say. */
  caller: Caller;
  /** Who a token from a message speaks for. */
  recognise(token: string): Principal | Failure;
  /** Whether what somebody showed still holds, for answers that go on for long. Left out: it does. */
  holds?(principal: Principal): boolean | Promise<boolean>;
  /** Why nobody can be told of a call's end at this address. Left out: nobody is ever told. */
  refuseCallback?(url: string): Failure | undefined;
  /** Whose word an "always" is that an operator gives. */
  grantTier: Tier;
  /** Signs approval tokens; a failure where there is no key. */
  approvalKey(): SigningKey | Failure;
  tokenRules: TokenRules;
  clock: Clock;
  ids: Ids;
  version: string;
  /** Which store the server uses; the check `store` says whether it answers. */
  store: ReadinessResponse["store"];
  checks: readonly ReadinessCheck[];
  /** Left out: there are no readings to be had here. */
  metrics?: MetricsPart;
}
