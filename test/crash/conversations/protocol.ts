import type { BatchResult, StreamEntry, Turn } from "@sallyport/loop";

/* What the harness and the process it kills say to each other: one JSON line each. */

/** One step of the victim, whole: the harness can take it again elsewhere. */
export type Step =
  | { do: "create" }
  | { do: "append"; turns: Turn[] }
  | { do: "open"; batchId: string }
  | { do: "record"; batchId: string; entry: StreamEntry }
  | {
      do: "seal";
      batchId: string;
      turns: Turn[];
      calls: { index: number; arguments: string; callId: string }[];
    }
  | { do: "result"; batchId: string; index: number; result: BatchResult }
  | { do: "close"; batchId: string; turns: Turn[] };

/** `does` is said before a step begins, `did` once it is acknowledged; a conversation has one step under way. */
export type Report =
  | { report: "ready" }
  | { report: "does"; conversationId: string; step: Step }
  | { report: "did"; conversationId: string };

/** What a victim is told. */
export interface Plan {
  folder: string;
  durability: "power" | "process";
  conversationIds: string[];
  /** Marks what this life writes. */
  life: number;
}
