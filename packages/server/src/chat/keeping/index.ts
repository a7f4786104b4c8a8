export { type Forgotten, forget, outputOf } from "./forget.ts";
export { hasConversations, type Kept, type Output, openOutput } from "./kept-in.ts";
export { removeOrphans } from "./orphans.ts";
export { type Retention, tidyUp } from "./retention.ts";
export { EVERY_ONE, staleOnes } from "./stale.ts";
