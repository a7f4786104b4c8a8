import { Buffer } from "node:buffer";
import { types } from "node:util";
import type { FileAccess } from "../../ports/workspace.ts";
import { checkMode, checkPath, type FileAnswer, type FileOp } from "./file-op.ts";

/** Brings an operation to where the files are. Rejects as they do, or when the call has ended. */
export type FileWay = (path: string, wanted: FileOp) => Promise<FileAnswer>;

/** The workspace as a tool sees it, whatever the runner. Misuse is an exception the tool can catch. */
export function createToolFiles(go: FileWay): FileAccess {
  return Object.freeze({
    read: async (path: string) => contentOf(await go(checkPath(path), { op: "read" })),
    write: async (path: string, content: string | Uint8Array, options?: { mode?: number }) => {
      const mode = options?.mode === undefined ? {} : { mode: checkMode(options.mode) };
      await go(checkPath(path), { op: "write", content: checkContent(content), ...mode });
    },
    remove: async (path: string, options?: { recursive?: boolean }) => {
      await go(checkPath(path), { op: "remove", recursive: options?.recursive === true });
    },
    rename: async (from: string, to: string) => {
      await go(checkPath(from), { op: "rename", to: checkPath(to) });
    },
    makeFolder: async (path: string) => {
      await go(checkPath(path), { op: "makeFolder" });
    },
    link: async (path: string, target: string) => {
      await go(checkPath(path), { op: "link", target: checkPath(target) });
    },
    setMode: async (path: string, mode: number) => {
      await go(checkPath(path), { op: "setMode", mode: checkMode(mode) });
    },
    list: async (path: string) => {
      const entries = await go(checkPath(path), { op: "list" });
      return Array.isArray(entries) ? entries : [];
    },
    stat: async (path: string) => {
      const entry = await go(checkPath(path), { op: "stat" });
      return Buffer.isBuffer(entry) || Array.isArray(entry) ? undefined : entry;
    },
  });
}

function contentOf(answer: FileAnswer): Buffer {
  if (Buffer.isBuffer(answer)) return answer;
  throw new TypeError("the host answered with something that is no file");
}

function checkContent(content: unknown): string | Uint8Array {
  if (typeof content === "string" || types.isUint8Array(content)) return content;
  throw new TypeError("a file's content must be a string or bytes");
}
