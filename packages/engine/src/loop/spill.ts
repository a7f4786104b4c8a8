/** Keeps tool output that is too long for the model, whole. */
export interface Spill {
  /** Resolves with the name it can be read by later. */
  keep(output: { conversationId: string; callId: string; text: string }): Promise<string>;
  /** How the model reads the rest, in one sentence with the name in it. */
  hint(name: string): string;
}
