/* The terminal UI of a conversation. */
export type { ChatCommands, ListedTool, ScreenInfo } from "./chat-commands.ts";
export { showsColour, showsUnicode } from "./look.ts";
export { type PrintedEnd, printEvents } from "./print/print-events.ts";
export { runScreen } from "./run-screen.ts";
export type { ScreenOptions, ScreenParts } from "./screen-parts.ts";
export { ScreenPerson } from "./screen-person.ts";
export { type StandingScope, standingScopesFor } from "./standing-scopes.ts";
