import type { Anchor } from "./anchor.ts";
import type { Content, Wanted } from "./change.ts";
import { copyContent, type Finish, writeWhole } from "./copy-content.ts";
import { lchown, link, lstat, lutimes, symlink } from "./disk.ts";
import { openOwn, openToRead, using } from "./file-content.ts";
import { secondsOf } from "./file-times.ts";
import { isRoot } from "./owner.ts";
import { hasCode } from "./system-error.ts";

/** Everything about a file or link that is to be made under a temporary name. */
export interface NewContent {
  wanted: Omit<Wanted, "linkTo">;
  /** Whose it shall be, when this process can say so. */
  owner: { uid: number; gid: number };
  anchor: Anchor;
  /** The content, where it is at hand. */
  bytes?: Buffer | undefined;
}

/** Makes a file or symbolic link, complete with owner, mode and time; a file is on disk once this resolves. */
export async function putContent(target: string, content: NewContent): Promise<void> {
  const { wanted, bytes: known } = content;
  if (wanted.type === "symlink") return putLink(target, content);
  const finish = finishing(content);
  if (known) return writeWhole(known, target, finish);
  if (!wanted.content) throw new Error(`no content is known for ${target}`);
  if (wanted.content.kind === "original" && (await adopt(wanted.content.path, target))) {
    if (!(await isComplete(target, wanted))) await using(await openToRead(target), finish);
    return;
  }
  const source = await openContent(wanted.content, content.anchor);
  const { bytes = 0, blocks = Math.ceil(bytes / 512) } = wanted;
  await using(source, (handle) => copyContent({ handle, bytes, blocks }, target, finish));
}

/** A pre-image that is the very file is complete; one that had to be copied lacks all but the content. */
async function isComplete(target: string, wanted: NewContent["wanted"]): Promise<boolean> {
  const { mode, mtimeNs } = await lstat(target, { bigint: true });
  return Number(mode & 0o7777n) === wanted.mode && `${mtimeNs}` === wanted.mtimeNs;
}

function finishing({ wanted, owner }: NewContent): Finish {
  return async (file) => {
    if (isRoot()) await file.chown(owner.uid, owner.gid);
    await file.utimes(secondsOf(wanted.mtimeNs), secondsOf(wanted.mtimeNs));
    await file.chmod(wanted.mode);
    await file.sync();
  };
}

/** Opens content wherever it is. */
export function openContent(content: Content, anchor: Anchor) {
  return content.kind === "workspace" ? anchor.at(content.path, openToRead) : openOwn(content.path);
}

async function putLink(target: string, { wanted, owner }: NewContent): Promise<void> {
  await symlink(wanted.target ?? "", target);
  if (isRoot()) await lchown(target, owner.uid, owner.gid);
  await lutimes(target, secondsOf(wanted.mtimeNs), secondsOf(wanted.mtimeNs));
}

/** The very file that was there, with everything about it. False where it is on another disk. */
async function adopt(original: string, target: string): Promise<boolean> {
  try {
    await link(original, target);
    return true;
  } catch (error) {
    if (hasCode(error, "EXDEV", "EPERM", "ENOTSUP", "ENOSYS", "EMLINK")) return false;
    throw error;
  }
}
