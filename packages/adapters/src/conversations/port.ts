export type * from "../../../engine/src/ports/conversations.ts";
