import type { JsonValue, RollbackProof } from "@sallyport/protocol";
import type { StateWrites } from "./state.ts";

/** The state contract of one execution (R1-4.3): every change is made inside it, and kept or dropped as a whole. */
export interface Transaction {
  isActive(): boolean;
  /** Changes made so far, in the order they were made. */
  mutations(): readonly Mutation[];
  /** What has to be written for these changes to hold; undefined when there are none. */
  writes(): StateWrites | undefined;
  /** Ends the transaction after its writes have become durable. */
  commit(): void | Promise<void>;
  /** Drops every change and proves that nothing of them is left. Rejects only when the store is lost. */
  rollback(): Promise<RollbackProof>;
}

export interface Mutation {
  kind: "put" | "delete";
  key: string;
}

/** A tool's own keys and values, as its execution sees them. */
export interface StateAccess {
  get(key: string): Promise<JsonValue | undefined>;
  put(key: string, value: JsonValue): Promise<void>;
  delete(key: string): Promise<void>;
  /** Sorted. */
  keys(prefix: string): Promise<string[]>;
}
