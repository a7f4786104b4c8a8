import type { Anchor } from "./anchor.ts";
import type { DeniedTest } from "./denied-paths.ts";
import type { Entry } from "./entry.ts";
import { forbidden } from "./failures.ts";
import type { Gone, StagedFolder, StagedNode, StagedTree, Visible } from "./staged-tree.ts";
import { systemError } from "./system-error.ts";

/** What is needed to move something that may so far be only in the workspace. */
export interface MoveRoom {
  tree: StagedTree;
  anchor: Anchor;
  isDenied: DeniedTest;
  /** Notes what the workspace has at a path and below. */
  remember(path: string): Promise<void>;
}

/** From where to where, as resolved and as given. */
export interface Move {
  source: readonly string[];
  target: readonly string[];
  from: string;
  to: string;
}

/** Renames as the system would, folders with everything in them. False when both are the same path. */
export async function moveStaged(room: MoveRoom, move: Move): Promise<boolean> {
  const { source, target, from, to } = move;
  const { tree, anchor } = room;
  const found = await tree.find(anchor, source);
  if (!found) throw systemError("ENOENT", from);
  if (source.length === 0 || target.length === 0) throw forbidden(from, "is the workspace itself");
  if (source.join("/") === target.join("/")) return false;
  if (`${target.join("/")}/`.startsWith(`${source.join("/")}/`)) throw systemError("EINVAL", to);
  await checkTarget(room, move, found);
  await room.remember(source.join("/"));
  await room.remember(target.join("/"));
  const moved = await whole(room, { at: source, becomes: target }, found);
  await tree.put(anchor, target, moved);
  await tree.remove(anchor, source);
  return true;
}

async function checkTarget({ tree, anchor }: MoveRoom, { target, to }: Move, found: Visible): Promise<void> {
  const existing = await tree.find(anchor, target);
  if (!existing) return;
  const isFolder = nodeOf(existing).type === "folder";
  if (isFolder && nodeOf(found).type !== "folder") throw systemError("EISDIR", to);
  if (!isFolder && nodeOf(found).type === "folder") throw systemError("ENOTDIR", to);
  if (isFolder && (await tree.names(anchor, target)).length > 0) throw systemError("ENOTEMPTY", to);
}

interface Place {
  at: readonly string[];
  becomes: readonly string[];
}

/** The thing with all that is in it, as something staged. */
async function whole(room: MoveRoom, place: Place, found: Visible): Promise<Exclude<StagedNode, Gone>> {
  for (const parts of [place.at, place.becomes])
    if (room.isDenied(parts.join("/"))) throw forbidden(parts.join("/"), "must not be moved");
  const node = nodeOf(found);
  if (node.type === "folder") return wholeFolder(room, place, node);
  return "staged" in found ? found.staged : asStaged(found.real, place.at.join("/"));
}

async function wholeFolder(
  room: MoveRoom,
  { at, becomes }: Place,
  { mode, mtimeNs }: { mode: number; mtimeNs: string },
): Promise<StagedFolder> {
  const children = new Map<string, StagedNode>();
  for (const name of await room.tree.names(room.anchor, at)) {
    const child = await room.tree.find(room.anchor, [...at, name]);
    if (child)
      children.set(name, await whole(room, { at: [...at, name], becomes: [...becomes, name] }, child));
  }
  return { type: "folder", mode, mtimeNs, opaque: true, children };
}

function asStaged(entry: Entry, path: string): Exclude<StagedNode, Gone> {
  const { type, mode, mtimeNs, blocks, bytes = 0, target = "" } = entry;
  if (type === "symlink") return { type, target, mtimeNs };
  if (type !== "file") throw forbidden(path, "is neither file, folder nor link, so it cannot be moved");
  return { type, mode, bytes, blocks, mtimeNs, content: { kind: "workspace", path } };
}

function nodeOf(found: Visible): { type: string; mode: number; mtimeNs: string } {
  const node = "real" in found ? found.real : found.staged;
  return node.type === "symlink"
    ? { type: node.type, mode: 0o777, mtimeNs: node.mtimeNs }
    : { ...node, type: node.type };
}
