import { type DefinedTool, defineTool, ToolFailure } from "@sallyport/engine/tool";
import type { LoopTool, OutputBudgetOf } from "@sallyport/loop";
import { DEFAULT_OPERATION, type JsonValue } from "@sallyport/protocol";
import type { SpillFolder } from "./spill-folder.ts";

export const READ_OUTPUT = "read_output";

const INPUT = {
  type: "object",
  properties: {
    id: { type: "string", minLength: 1, maxLength: 64, description: "As named where the output was cut." },
    start_line: {
      type: "integer",
      minimum: 1,
      description: "First line, from 1; very long lines are counted as several.",
    },
    end_line: { type: "integer", minimum: 1, description: "Last line, included." },
  },
  required: ["id"],
  additionalProperties: false,
};

interface Wanted {
  id: string;
  start_line?: number;
  end_line?: number;
}

/** Lets a model read on in output that was too long for it, a range of lines at a time. */
export function readOutputTool({
  spill,
  outputBudgets,
}: {
  spill: SpillFolder;
  outputBudgets: OutputBudgetOf;
}): {
  tool: DefinedTool;
  loop: LoopTool;
} {
  const description = "Read lines of an earlier tool output that was too long to be shown whole";
  const tool = defineTool({
    id: READ_OUTPUT,
    version: "1.0.0",
    description,
    category: "file_system",
    sideEffects: "none",
    idempotent: true,
    input: INPUT,
    output: { type: "string" },
    summary: (input: JsonValue) => `Read output ${wantedOf(input).id}`,
    async run(given: JsonValue, { session, callId }) {
      const input = wantedOf(given);
      const text = session === undefined ? undefined : await spill.read(session, input.id);
      if (text === undefined)
        throw new ToolFailure("E3907", `there is no output ${input.id} in this conversation`);
      const { maxOutputBytes, availableBytes } = outputBudgets.of(callId);
      return linesOf(text, input, Math.min(maxOutputBytes, availableBytes));
    },
  });
  const name = READ_OUTPUT;
  return {
    tool,
    loop: {
      name,
      tool: name,
      version: tool.manifest.version,
      operation: DEFAULT_OPERATION,
      description,
      inputSchema: INPUT,
      sideEffects: false,
    },
  };
}

/** The schema has been checked. */
function wantedOf(input: JsonValue): Wanted {
  const { id, start_line, end_line } = Object(input);
  return {
    id: String(id),
    ...(start_line !== undefined && { start_line }),
    ...(end_line !== undefined && { end_line }),
  };
}

/** As many of the wanted lines as there is room for, and where to go on. */
function linesOf(text: string, { start_line: start = 1, end_line: end }: Wanted, maxBytes: number): string {
  if (end !== undefined && end < start)
    throw new ToolFailure("E3901", "start_line must not be after end_line");
  const lines = text.split("\n").flatMap(shortLines);
  const wanted = lines.slice(start - 1, end ?? lines.length);
  if (wanted.length === 0) throw new ToolFailure("E3901", `the output has ${lines.length} lines`);
  const kept = fitting(wanted, maxBytes - 120);
  if (kept === wanted.length) return wanted.join("\n");
  if (kept === 0) throw new ToolFailure("E3907", `line ${start} alone is longer than there is room for`);
  const next = start + kept;
  return `${wanted.slice(0, kept).join("\n")}\n... [${lines.length} lines in all; go on with start_line ${next}]`;
}

/** A result in JSON is one line, and could never be read otherwise. */
const LONGEST_LINE = 2_000;

function shortLines(line: string): string[] {
  const pieces: string[] = [];
  for (let at = 0; at < line.length || at === 0; ) {
    const cut = line.slice(at, at + LONGEST_LINE).replace(/[\ud800-\udbff]$/, "");
    pieces.push(cut);
    at += Math.max(1, cut.length);
  }
  return pieces;
}

function fitting(lines: readonly string[], maxBytes: number): number {
  let bytes = 0;
  const over = lines.findIndex((line) => {
    bytes += Buffer.byteLength(line) + 1;
    return bytes > maxBytes;
  });
  return over === -1 ? lines.length : over;
}
