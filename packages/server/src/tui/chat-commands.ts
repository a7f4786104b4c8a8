import type { Question } from "@sallyport/loop";
import type { StandingScope } from "./standing-scopes.ts";

/** A tool as `/tools` lists it. `state`: such as `allowed`, `asks` or `denied`. */
export interface ListedTool {
  name: string;
  description: string;
  sideEffects: boolean;
  state: string;
}

/** What the slash commands need of the server. A rejection is shown and changes nothing. */
export interface ChatCommands {
  listTools(): Promise<readonly ListedTool[]>;
  listApprovals(): Promise<readonly string[]>;
  /** Takes back the last change; lines that say what happened. */
  undo(): Promise<readonly string[]>;
  /** Changes how tools are treated; without a mode it says what there is. Left out where it cannot be changed. */
  setMode?(mode: string | undefined): Promise<readonly string[]>;
  standingScopes(question: Question): readonly StandingScope[];
}

/** What the status line says. */
export interface ScreenInfo {
  /** `provider/model`. */
  model: string;
  mode: string;
  /** As it is to be shown, such as `~/project`. */
  folder: string;
  /** Used so far, where it is known. */
  tokens?: number;
}
