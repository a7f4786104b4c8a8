import type { ConversationDoor, Turn } from "@sallyport/loop";
import type { Io } from "../cli/io.ts";
import type { ChatCommands, ScreenInfo } from "./chat-commands.ts";
import type { ScreenPerson } from "./screen-person.ts";

export interface ScreenOptions {
  /** Line by line, without redrawing: for screen readers and simple terminals. */
  plain: boolean;
  colour: boolean;
  /** More than ASCII may be drawn. */
  unicode: boolean;
}

/** What a screen shows and steers. */
export interface ScreenParts {
  door: ConversationDoor;
  /** The same the conversation asks. */
  person: ScreenPerson;
  /** What was said before. */
  turns: readonly Turn[];
  info: () => ScreenInfo;
  commands: ChatCommands;
  io: Pick<Io, "stdin" | "stdout" | "stderr">;
  options: ScreenOptions;
  /** Leaves when it aborts. */
  signal?: AbortSignal;
}
