import type { ErrorReport } from "@sallyport/engine/ports";
import type { Logger } from "pino";

/** What a tool does to itself: it threw, took too long, or went beyond a limit. */
const OF_TOOLS = new Set(["E3102", "E3103", "E3108", "E3907"]);

/** That somebody cancelled a call is no trouble of the server, however often it happens; that a tool failed is the tool's. */
export function tellError(report: ErrorReport, log: Logger): void {
  if (report.code === "E3906") log.debug({ ...report }, "A call was cancelled");
  else if (report.code === "E3511") log.warn({ ...report }, "A deterministic tool gave another result");
  else if (OF_TOOLS.has(report.code)) log.warn({ ...report }, "A tool failed");
  else log.error({ ...report }, "Something went wrong inside");
}
