import { type Fields, parseObject } from "./parse-object.ts";
export const UPPER_TYPES = ["file", "folder", "symlink", "whiteout", "fifo", "socket", "device"] as const;
/** `whiteout`: what has this name in the lower layer is deleted. */
export type UpperType = (typeof UPPER_TYPES)[number];

/** One entry of an overlay's upper layer. */
export interface UpperEntry {
  /** Relative, with `/` between its parts. With bytes that are no UTF-8 it is readable but not exact; see `pathBytes`. */
  path: string;
  /** Only of a path that is not UTF-8: its exact bytes. */
  pathBytes?: Buffer;
  type: UpperType;
  mode: number;
  size: number;
  mtimeNs: bigint;
  uid: number;
  gid: number;
  ino: bigint;
  dev: bigint;
  nlink: number;
  /** 512 bytes each. */
  blocks: number;
  /** Of a symlink: as written in it. */
  target?: string;
  /** Only of a target that is not UTF-8: its exact bytes. */
  targetBytes?: Buffer;
  /** Of a folder: nothing of the lower layer shows through. */
  opaque: boolean;
}

/** Reads one line of the launcher's `scan`; undefined when it is not one. */
export function readUpperLine(line: Buffer): UpperEntry | undefined {
  const fields = parseObject(line);
  const type = UPPER_TYPES.find((name) => name === fields?.type);
  if (!fields || !type) return undefined;
  const numbers = readNumbers(fields);
  const large = readLarge(fields);
  const path = readName(fields.path, fields.pathBase64);
  if (!numbers || !large || !path) return undefined;
  const target = readName(fields.target, fields.targetBase64);
  return {
    path: path.text,
    ...(path.bytes && { pathBytes: path.bytes }),
    type,
    ...numbers,
    ...large,
    ...(target && { target: target.text }),
    ...(target?.bytes && { targetBytes: target.bytes }),
    opaque: fields.opaque === true,
  };
}

function readName(text: unknown, base64: unknown): { text: string; bytes?: Buffer } | undefined {
  if (typeof text === "string") return { text };
  if (typeof base64 !== "string") return undefined;
  const bytes = Buffer.from(base64, "base64");
  return { text: bytes.toString("utf8"), bytes };
}

function readNumbers({ mode, size, uid, gid, nlink, blocks }: Fields) {
  if (typeof mode !== "number" || typeof size !== "number" || typeof uid !== "number") return undefined;
  if (typeof gid !== "number" || typeof nlink !== "number" || typeof blocks !== "number") return undefined;
  return { mode, size, uid, gid, nlink, blocks };
}

function readLarge({ mtimeNs, ino, dev }: Fields) {
  const values = [mtimeNs, ino, dev].map((value) =>
    typeof value === "string" && /^-?\d{1,20}$/.test(value) ? BigInt(value) : undefined,
  );
  const [time, inode, device] = values;
  if (time === undefined || inode === undefined || device === undefined) return undefined;
  return { mtimeNs: time, ino: inode, dev: device };
}
