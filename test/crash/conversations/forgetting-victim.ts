import { writeSync } from "node:fs";
import { join } from "node:path";
import { openSqliteConversations } from "@sallyport/adapters/conversations";
import { openSpill, openSpillKeeping } from "@sallyport/adapters/spill";
import { forget } from "../../../packages/server/src/chat/keeping/index.ts";

/*
 * A process that begins conversations whose histories name kept output, and forgets them again, many at once, until it is
 * killed: `node forgetting-victim.ts <folder> <life>`. It says `forgets` just before it does.
 */

const [folder = "", life = ""] = process.argv.slice(2);
const TOGETHER = 12;
const OUTPUTS = 3;
const ROUNDS = 10_000;

const conversations = await openSqliteConversations({ folder, durability: "process" });
const spill = openSpill(join(folder, "output"));
const output = openSpillKeeping(join(folder, "output"));

async function begin(conversationId: string): Promise<void> {
  const record = { conversationId, model: "m", cwd: "/", title: "", createdAt: 1, updatedAt: 1 };
  await conversations.create(record);
  await conversations.reads.note(conversationId, { path: "/a", sha256: "a", at: 1 });
  for (let at = 0; at < OUTPUTS; at += 1) {
    const callId = `${conversationId} ${at}`;
    const content = await spill.keep({ conversationId, callId, text: callId });
    const call = { id: callId, name: "n" };
    await conversations.append(conversationId, [
      { kind: "tool_use", ...call, arguments: "{}", at },
      { kind: "tool_result", ...call, isError: false, content, at },
    ]);
  }
}

for (let round = 0; round < ROUNDS; round += 1) {
  const ids = Array.from({ length: TOGETHER }, (_, at) => `${life}/${round}/${at}`);
  for (const id of ids) await begin(id);
  writeSync(1, "forgets\n");
  // The first of each round stays.
  await forget({ conversations, output }, ids.slice(1));
}
