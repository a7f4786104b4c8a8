/** A file of the host: an address or an absolute path, here or on Windows. What is quoted may hold spaces. */
const QUOTED = /(["'`])((?:file:\/\/|\/|[a-z]:[\\/])[^"'`\n]*)\1/gi;
const BARE = /(?<![\w:/\\.@-])(?:file:\/\/|[a-z]:[\\/]|\/)[^\s"'`,;()]*/gi;

/** The text with only the names of the files it speaks of: where a host keeps its tools is nobody else's business. */
export function withoutFolders(text: string): string {
  return text
    .replace(QUOTED, (_, quote: string, path: string) => `${quote}${lastName(path)}${quote}`)
    .replace(BARE, lastName);
}

function lastName(path: string): string {
  return path.slice(Math.max(path.lastIndexOf("/"), path.lastIndexOf("\\")) + 1) || "a folder";
}
