/* What the harness and the process it kills say to each other: one JSON line each. */

/** One call the victim makes. The key is its identity across restarts: the same key is the same request. */
export interface Order {
  key: string;
  /** `later` is made by a caller that does not wait: acknowledged, and run when there is room. */
  tool: "pay" | "count" | "look" | "transfer" | "later";
  lane: string;
}

/** How and where the victim dies. */
export type Death =
  /** Kills itself right before or right after its n-th write to the store. */
  | { kind: "at write"; nth: number; when: "before" | "after" }
  /** Kills itself inside the n-th run of a tool, before or after the tool's effect. */
  | { kind: "in tool"; nth: number; when: "before" | "after" }
  /** Is killed from outside, after so many milliseconds of work: anywhere, also in the middle of a transaction. */
  | { kind: "from outside"; afterMs: number }
  /** Lives until nothing it took up is left to do. */
  | { kind: "of age" };

export interface Plan {
  folder: string;
  witness: string;
  durability: "power" | "process";
  lanes: number;
  /** Orders of earlier lives that were never answered: made again first. */
  unanswered: Order[];
  /** New orders are numbered from here. */
  from: number;
  death: Death;
}

export type Report =
  | { report: "ready"; unknown: number; undone: number }
  | { report: "sent"; order: Order }
  | { report: "accepted"; order: Order; callId: string }
  | {
      report: "answered";
      order: Order;
      callId: string;
      status: string;
      result: unknown;
      code: string | undefined;
      replayed: boolean;
    };
