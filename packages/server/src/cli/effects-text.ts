import type { FileChange, FileEffect, FileEffects } from "@sallyport/protocol";
import { type Output, visible } from "./io.ts";
import { sizeText } from "./parse-size.ts";

const MARKS = {
  added: ["green", "A"],
  edited: ["yellow", "M"],
  deleted: ["red", "D"],
  renamed: ["cyan", "R"],
  mode: ["yellow", "m"],
  replaced: ["yellow", "T"],
} as const satisfies Record<FileChange, readonly [string, string]>;

type Styles = Pick<Output, "style">;

/** What a call changed or would change, one line a path, with the diffs where asked for. */
export function effectsText(effects: FileEffects, styles: Styles, { diff }: { diff: boolean }): string {
  if (effects.files.length === 0) return `No file was changed in ${visible(effects.root)}.`;
  const lines = effects.files.flatMap((file) => [
    fileLine(file, styles),
    ...(diff && file.diff !== undefined ? [diffText(file.diff, styles)] : []),
  ]);
  if (effects.omitted > 0) lines.push(`  … and ${effects.omitted} more`);
  if (diff && effects.diffsCut) lines.push("  (some differences are too long to be shown)");
  return [`${countText(effects)} in ${visible(effects.root)}:`, ...lines].join("\n");
}

function countText({ files, omitted }: FileEffects): string {
  const count = files.length + omitted;
  return `${count} ${count === 1 ? "change" : "changes"}`;
}

function fileLine(file: FileEffect, styles: Styles): string {
  const [color, mark] = MARKS[file.change];
  const from = file.from === undefined ? "" : `${visible(file.from)} → `;
  const parts = [detailOf(file), file.note].filter((text) => text !== undefined && text !== "");
  const detail = parts.length === 0 ? "" : ` (${parts.join("; ")})`;
  return `  ${styles.style(color, mark)} ${from}${visible(file.path.replaceAll("\n", "\\n"))}${visible(detail)}`;
}

function detailOf({ change, before, after }: FileEffect): string {
  if (change === "mode") return `${octal(before?.mode)} → ${octal(after?.mode)}`;
  const state = after ?? before;
  if (state?.type === "symlink") return `link to ${state.target ?? "?"}`;
  if (state?.type === "folder") return "folder";
  if (change === "edited") return `${sizeText(before?.bytes ?? 0)} → ${sizeText(after?.bytes ?? 0)}`;
  return state?.bytes === undefined ? "" : sizeText(state.bytes);
}

function octal(mode: number | undefined): string {
  return mode === undefined ? "?" : mode.toString(8).padStart(3, "0");
}

function diffText(diff: string, styles: Styles): string {
  return diff
    .replace(/\n$/, "")
    .split("\n")
    .map((line) => {
      const text = `    ${visible(line)}`;
      if (line.startsWith("+") && !line.startsWith("+++")) return styles.style("green", text);
      return line.startsWith("-") && !line.startsWith("---") ? styles.style("red", text) : text;
    })
    .join("\n");
}

/** Recognises effects that come from a record, where they are plain JSON. */
export function isFileEffects(value: unknown): value is FileEffects {
  return typeof value === "object" && value !== null && "files" in value && Array.isArray(value.files);
}
