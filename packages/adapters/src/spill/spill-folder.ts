import { chmod, mkdir, readFile, rename, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Spill } from "@sallyport/loop";
import { folderOf, OUTPUT_NAME, outputNameOf } from "./spill-paths.ts";

/** Output kept whole, readable by conversation and name. */
export interface SpillFolder extends Spill {
  /** Undefined when the conversation has no output of that name. */
  read(conversationId: string, name: string): Promise<string | undefined>;
}

/** Keeps each output in a file of its own below `folder`, readable only by its owner. */
export function openSpill(folder: string): SpillFolder {
  return {
    async keep({ conversationId, callId, text }) {
      const own = folderOf(folder, conversationId);
      await mkdir(own, { recursive: true, mode: 0o700 });
      await chmod(folder, 0o700);
      const name = outputNameOf(callId);
      const path = join(own, name);
      await writeFile(`${path}.new`, text, { mode: 0o600 });
      await rename(`${path}.new`, path);
      return name;
    },
    hint: readHint,
    async read(conversationId, name) {
      if (!OUTPUT_NAME.test(name)) return undefined;
      try {
        return await readFile(join(folderOf(folder, conversationId), name), "utf8");
      } catch (error) {
        if (error instanceof Error && "code" in error && error.code === "ENOENT") return undefined;
        throw error;
      }
    },
  };
}

/** What a model is told of output that was kept. */
export function readHint(name: string): string {
  return `Read more of it with read_output, id "${name}".`;
}
