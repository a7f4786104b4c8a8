import type { Caller } from "@sallyport/protocol";
import type { Conversations } from "../ports/conversations.ts";
import type { Clock, Ids } from "../ports/time.ts";
import type { OfferedTool } from "./advertise.ts";
import type { CallRooms } from "./call-room.ts";
import type { LoopEngine } from "./loop-engine.ts";
import type { LoopEvent, Person } from "./loop-events.ts";
import type { LoopSettings } from "./loop-settings.ts";
import type { LoopTool } from "./loop-tool.ts";
import type { StartModel } from "./model-answer.ts";
import type { Spill } from "./spill.ts";

/** What a conversation works with. */
export interface LoopParts {
  engine: LoopEngine;
  conversations: Conversations;
  /** `provider/model`, for the record. */
  model: string;
  startModel: StartModel;
  /** On whose behalf tools are called; the conversation becomes the session. */
  caller: Caller;
  /**
   * The folder that a person's "always" is bound to: the one the engine's authority weighs calls by
   * (`AuthorityOptions.project`), or it will never match. Absent: an "always" holds wherever the house works.
   */
  project?: string;
  tools: readonly LoopTool[];
  /** Tools by hand, for mode parse_only (CFG-TOOLS-02). */
  manual?: readonly OfferedTool[];
  settings: LoopSettings;
  rooms: CallRooms;
  /** Absent: what needs a person is denied. */
  person?: Person;
  /** Absent: what is too long is cut. */
  spill?: Spill;
  clock: Clock;
  ids: Ids;
}

/** The same for one batch of one conversation. */
export interface BatchAround extends LoopParts {
  conversationId: string;
  batchId: string;
  /** Which batch of the person's turn it is, from 1. */
  iteration: number;
  /** For all results of the batch together. */
  capacityBytes: number;
  signal: AbortSignal;
  tell(event: LoopEvent): void | Promise<void>;
}
