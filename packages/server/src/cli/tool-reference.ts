import { InvalidArgumentError } from "commander";

/** A tool as the command line names it: `id`, `id@version` or `id@range`. */
export interface Reference {
  id: string;
  version: string | undefined;
}

export function reference(text: string): Reference {
  const at = text.lastIndexOf("@");
  return at > 0 ? { id: text.slice(0, at), version: text.slice(at + 1) } : { id: text, version: undefined };
}

export function exactReference(text: string): { id: string; version: string } {
  const { id, version } = reference(text);
  if (!version) throw new InvalidArgumentError("name the version too: tool@1.2.3");
  return { id, version };
}
