export { openSqliteConversations, type SqliteConversationsOptions } from "./open-conversations.ts";
export { CONVERSATIONS_FILE } from "./private-file.ts";
