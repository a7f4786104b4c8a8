import type { JsonValue } from "@sallyport/protocol";

/** A conversation between a person, a model and tools. */
export interface ConversationRecord {
  conversationId: string;
  /** `provider/model` as it was chosen last. */
  model: string;
  /** The folder its tools work in. */
  cwd: string;
  /** The beginning of the first thing the person said; empty before that. */
  title: string;
  createdAt: number;
  updatedAt: number;
}

/**
 * One entry of the history, in the order the model is given it. `meta` is what the provider wants back with it and
 * nobody else reads.
 */
export type Turn =
  | { kind: "user"; text: string; at: number }
  | { kind: "assistant"; text: string; at: number; meta?: JsonValue }
  | { kind: "reasoning"; text: string; at: number; meta?: JsonValue }
  | { kind: "tool_use"; id: string; name: string; arguments: string; at: number; meta?: JsonValue }
  | { kind: "tool_result"; id: string; name: string; isError: boolean; content: string; at: number };

export type ToolUseTurn = Extract<Turn, { kind: "tool_use" }>;
export type ToolResultTurn = Extract<Turn, { kind: "tool_result" }>;

/** What a tool call of a batch came to, as the model is told. */
export interface BatchResult {
  isError: boolean;
  content: string;
  at: number;
}

/** What comes in from the model, as it comes. Calls are counted from 0 in the order they begin. */
export type StreamEntry =
  | { kind: "text"; delta: string }
  | { kind: "call"; index: number; id: string; name: string }
  | { kind: "arguments"; index: number; delta: string };

/** A call of an open batch. */
export interface JournaledCall {
  index: number;
  /** The model's own name for it, unique only where the model is careful. */
  id: string;
  name: string;
  /** As far as they came; JSON once the batch is sealed, unless the model sent something else. */
  arguments: string;
  /** The engine's id of the call; present once the batch is sealed. */
  callId?: string;
  result?: BatchResult;
}

/**
 * The calls of one answer of the model. `streaming`: they are still coming in, and nothing of it is in the history.
 * `sealed`: text and calls are in the history, results are being collected.
 */
export interface OpenBatch {
  batchId: string;
  conversationId: string;
  model: string;
  phase: "streaming" | "sealed";
  openedAt: number;
  text: string;
  calls: JournaledCall[];
}

/**
 * What must not be lost when the process ends in the middle of a batch. At most one batch of a conversation is open.
 * Every method resolves once it is on disk, as far as the store's durability goes.
 */
export interface BatchJournal {
  /** False, and nothing happens, when the conversation has an open batch already. */
  open(batch: { batchId: string; conversationId: string; model: string; at: number }): Promise<boolean>;
  record(batchId: string, entry: StreamEntry): Promise<void>;
  /**
   * The answer is complete: its turns join the history and each call gets its final arguments and the engine's id, at
   * once or not at all. False when it is sealed already or not open.
   */
  seal(
    batchId: string,
    sealed: { turns: Turn[]; calls: { index: number; arguments: string; callId: string }[] },
  ): Promise<boolean>;
  /** Keeps the result of a call; false when it has one already (the first stays) or there is no such call. */
  result(batchId: string, index: number, result: BatchResult): Promise<boolean>;
  /** Puts these turns into the history and forgets the batch, at once or not at all. False when it is not open. */
  close(batchId: string, turns: Turn[]): Promise<boolean>;
  /** The open batch of a conversation, with its calls in order. */
  openOf(conversationId: string): Promise<OpenBatch | undefined>;
}

/** A file's content as the model last saw it in a conversation (FR-TOOL-PATCH-02c). */
export interface FileRead {
  /** Canonical, absolute. */
  path: string;
  sha256: string;
  at: number;
}

/** What was read in which conversation. */
export interface ReadLedger {
  /** Replaces what was known of the path. */
  note(conversationId: string, read: FileRead): Promise<void>;
  find(conversationId: string, path: string): Promise<FileRead | undefined>;
}

/** A conversation from outside: what a list shows, without its history. */
export interface ConversationOutline extends ConversationRecord {
  /** How many entries its history has; an open batch that still streams in is not among them. */
  turns: number;
  /** Somebody works on it, waits for results by hand, or was interrupted. */
  hasOpenBatch: boolean;
}

/** Looks over what is kept, and forgets. */
export interface ConversationKeeping {
  /** As `list`, with how much there is of each. */
  outlines(page: { limit: number; before?: number }): Promise<ConversationOutline[]>;
  /**
   * Forgets conversations with their histories, batches and reads: all that go, go at once or not at all. Those with an
   * open batch stay unless `openToo`, and unknown ones are passed over. Resolves with the ids that went.
   */
  remove(conversationIds: readonly string[], which?: { openToo?: boolean }): Promise<string[]>;
  /** Gives the room of what was removed back, as far as there is any to give; resolves with its bytes. */
  compact(): Promise<number>;
}

/** Keeps conversations, their open batches, and what was read in them. */
export interface Conversations {
  /** Rejects when there is one of that id. */
  create(record: ConversationRecord): Promise<void>;
  get(conversationId: string): Promise<ConversationRecord | undefined>;
  /** The last changed first; older than `before` (an `updatedAt`), when given. */
  list(page: { limit: number; before?: number }): Promise<ConversationRecord[]>;
  /** Changes what is given, and `updatedAt`. Nothing happens for an unknown one. */
  update(
    conversationId: string,
    change: { model?: string; cwd?: string; title?: string; at: number },
  ): Promise<void>;
  /** The whole history; empty for an unknown one. */
  turns(conversationId: string): Promise<Turn[]>;
  /** All of them or none. */
  append(conversationId: string, turns: readonly Turn[]): Promise<void>;
  readonly journal: BatchJournal;
  readonly reads: ReadLedger;
  readonly keeping: ConversationKeeping;
  close(): Promise<void>;
}
