import { defineCommand } from "@sallyport/engine/tool";

const text = { type: "string", minLength: 1, maxLength: 200 } as const;
/** A plain name: it cannot be an option, climb out of the folder, or mean a hidden file. */
const file = { type: "string", pattern: "^[A-Za-z0-9_][A-Za-z0-9_.-]*$" } as const;

/** The program is fixed; what the caller sends arrives as arguments and is never read as code. */
const REPLACE = [
  "import pathlib, sys",
  "name, old, new = sys.argv[1:]",
  "path = pathlib.Path(name)",
  "path.write_text(path.read_text().replace(old, new))",
  "print('replaced in', name)",
].join("\n");

/** Commands as tools: no shell, no network, and of the disk only the notes folder, copy-on-write. */
export const editor = defineCommand({
  id: "editor",
  version: "1.0.0",
  description: "Counts and replaces words in a folder of notes.",
  category: "file_system",
  permissions: { filesystem: [{ path: "notes", mode: "rw" }], network: [], credentials: [] },
  limits: { timeoutMs: 10_000, memoryBytes: 256 * 1024 * 1024, maxProcesses: 8 },
  operations: {
    count: {
      description: "Counts the lines, words and bytes of a file.",
      sideEffects: "none",
      input: {
        type: "object",
        properties: { file },
        required: ["file"],
        additionalProperties: false,
      },
      command: ["wc", "--", "{file}"],
    },
    replace: {
      description: "Replaces a word by another in a file.",
      risk: "medium",
      summary: "Replace {from} by {to} in {file}",
      input: {
        type: "object",
        properties: { file, from: text, to: text },
        required: ["file", "from", "to"],
        additionalProperties: false,
      },
      command: ["python3", "-c", REPLACE, "{file}", "{from}", "{to}"],
    },
  },
});
