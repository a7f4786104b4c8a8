import { hint } from "../cli/invoked-as.ts";
import { type Output, visible } from "../cli/io.ts";
import type { StartReport } from "./start-report.ts";

const MAX_TOOLS = 8;

/** The report for a person: where everything is, and a line to paste. */
export function startText(report: StartReport, output: Output): string {
  const { url, docs, configFile, stateFolder, store, isolation, operatorKeyFile, mint, curl, domain } =
    report;
  const facts: [string, string][] = [
    ["API", url],
    ["docs", docs],
    ...(domain ? [["domain", `${domain.id} ${domain.version} (${domain.folder})`] as [string, string]] : []),
    ["tools", toolsText(report.tools)],
    ["run in", runnersText(report.runners)],
    ["sandbox", isolation ? `${isolation.level} (${isolation.backend})` : "none"],
    ["state", stateFolder],
    ["store", store],
    ["configuration", configFile ?? "defaults only"],
    ["operator key", operatorKeyFile ?? "none"],
  ];
  const lines = facts.map(([name, value]) => `  ${name.padEnd(14)} ${visible(value)}`);
  const warnings = report.warnings.map(
    ({ message, advice }) =>
      `${output.style("yellow", "!")} ${visible(message)}\n    → ${hint(visible(advice))}`,
  );
  const sample = [mint, curl].flatMap((line) => (line === null ? [] : [`  ${hint(visible(line))}`]));
  return [
    output.style("bold", `Sallyport ${report.version} is open at ${url}`),
    ...lines,
    ...(warnings.length > 0 ? ["", ...warnings] : []),
    ...(sample.length > 0 ? ["", "Try it:", ...sample] : []),
    "",
    `Ctrl-C stops it; SIGHUP applies a changed ${domain ? "domain package or " : ""}configuration.`,
  ].join("\n");
}

function toolsText(tools: readonly string[]): string {
  if (tools.length === 0) return "none";
  const shown = tools.slice(0, MAX_TOOLS).join(", ");
  return tools.length > MAX_TOOLS ? `${shown} and ${tools.length - MAX_TOOLS} more` : shown;
}

/** Where the loaded tools run, the least isolated first. */
function runnersText(runners: StartReport["runners"]): string {
  const { inline = 0, thread = 0, script = 0, process = 0, worker = 0, job_worker: job = 0 } = runners;
  const parts = [
    ...(worker > 0 ? [`${worker} by workers`] : []),
    ...(job > 0 ? [`${job} as jobs in sandboxes`] : []),
    ...(inline + thread > 0
      ? [`${inline + thread} in this process (LEVEL_0: trusted code, no sandbox)`]
      : []),
    ...(script + process > 0 ? [`${script + process} in sandboxes`] : []),
  ];
  return parts.join(", ") || "nowhere";
}
