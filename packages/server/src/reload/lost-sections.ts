import { isDeepStrictEqual } from "node:util";
import { failure, SallyportError } from "@sallyport/protocol";
import { type ConfigReading, type LoadedConfig, missingConfig } from "../config/load.ts";

/** What holds calls back, and the tools themselves, with how to say that there shall be none. */
const SECTIONS = { policy: "{}", agents: "[]", toolLimits: "[]", tools: "[]" } as const;

type Section = keyof typeof SECTIONS;

/**
 * Throws E3919 when the file is gone, or has lost a section that was in force: it may be half written, and then it would
 * take rules away that nobody meant to. Whoever means it writes the section out, empty.
 */
export function refuseLostSections(before: LoadedConfig, read: ConfigReading & { ok: true }): void {
  if (before.file !== undefined && read.file === undefined) throw missingConfig(before.file);
  const lost = (Object.keys(SECTIONS) as Section[]).filter((section) => isLost(section, before, read));
  const [first] = lost;
  if (first === undefined) return;
  throw new SallyportError(
    failure("E3919", {
      message: `${read.file} has lost ${lost.join(", ")}; it may be half written.`,
      advice: `If there shall be none, say so: \`${first}: ${SECTIONS[first]}\`. Or start the server again.`,
      issues: lost.map((section) => ({ path: section, reason: "was in force and is not in the file" })),
    }),
  );
}

function isLost(
  section: Section,
  before: LoadedConfig,
  { config, originOf }: ConfigReading & { ok: true },
): boolean {
  return originOf([section]).kind === "default" && !isDeepStrictEqual(before[section], config[section]);
}
