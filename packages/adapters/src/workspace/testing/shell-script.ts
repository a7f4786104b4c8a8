import type { FileOp } from "./file-ops.ts";

/** The operations as a script for any shell: what fails is passed over. Content without zero bytes only. */
export function shellScript(ops: readonly FileOp[]): string {
  return ["umask 022", ...ops.map((op) => `{ ${command(op)}; } 2>/dev/null || :`), ""].join("\n");
}

function command(op: FileOp): string {
  const path = quote(op.path);
  const isFile = `[ -f ${path} ] && [ ! -L ${path} ]`;
  switch (op.do) {
    case "write": {
      const mode = op.mode === undefined ? "" : ` && chmod ${op.mode.toString(8)} ${path}`;
      return `[ ! -L ${path} ] && printf %s ${quote(op.content)} > ${path}${mode}`;
    }
    case "append":
      return `${isFile} && printf %s ${quote(op.content)} >> ${path}`;
    case "truncate":
      return `${isFile} && truncate -s ${op.bytes} ${path}`;
    case "delete":
      return `rm -f ${path}`;
    case "delete tree":
      return `rm -rf ${path}`;
    case "move":
      // Only files: how `mv` fares with a folder that may not be written differs with what is below.
      return `${isFile} && [ ! -d ${quote(op.to)} ] && mv -fT ${path} ${quote(op.to)}`;
    case "make folder":
      return `mkdir ${path}`;
    case "remove folder":
      return `rmdir ${path}`;
    case "chmod":
      return `[ ! -L ${path} ] && chmod ${op.mode.toString(8)} ${path}`;
    case "symlink":
      return `ln -sT ${quote(op.target)} ${path}`;
    case "hard link":
      return `${isFile} && ln -T ${path} ${quote(op.to)}`;
    case "sparse":
      return `truncate -s ${op.bytes} ${path}`;
    case "fifo":
      return `mkfifo ${path}`;
    case "touch":
      return `touch -d @${op.at} ${path}`;
  }
}

/** One word of a script, whatever is in it. All paths begin with a folder, so none is taken for an option. */
function quote(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}
