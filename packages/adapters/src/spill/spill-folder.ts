import { createHash } from "node:crypto";
import { chmod, mkdir, readFile, rename, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Spill } from "@sallyport/engine/loop";

/** Output kept whole, readable by conversation and name. */
export interface SpillFolder extends Spill {
  /** Undefined when the conversation has no output of that name. */
  read(conversationId: string, name: string): Promise<string | undefined>;
}

const NAME = /^[0-9a-f]{16}$/;

/** Keeps each output in a file of its own below `folder`, readable only by its owner. */
export function openSpill(folder: string): SpillFolder {
  const folderOf = (conversationId: string) => join(folder, digest(conversationId));
  return {
    async keep({ conversationId, callId, text }) {
      const own = folderOf(conversationId);
      await mkdir(own, { recursive: true, mode: 0o700 });
      await chmod(folder, 0o700);
      const name = digest(callId).slice(0, 16);
      const path = join(own, name);
      await writeFile(`${path}.new`, text, { mode: 0o600 });
      await rename(`${path}.new`, path);
      return name;
    },
    hint: (name) => `Read more of it with read_output, id "${name}".`,
    async read(conversationId, name) {
      if (!NAME.test(name)) return undefined;
      try {
        return await readFile(join(folderOf(conversationId), name), "utf8");
      } catch (error) {
        if (error instanceof Error && "code" in error && error.code === "ENOENT") return undefined;
        throw error;
      }
    },
  };
}

/** Ids of conversations and calls are others' to choose; a file's name is not. */
function digest(id: string): string {
  return createHash("sha256").update(id).digest("hex");
}
