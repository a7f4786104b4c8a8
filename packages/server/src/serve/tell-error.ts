import type { ErrorReport } from "@sallyport/engine/ports";
import type { Logger } from "pino";

/** What a tool does to itself: it threw, took too long, or went beyond a limit; or its worker did, or is not there. */
const OF_TOOLS = new Set(["E3102", "E3103", "E3108", "E3907", "E3962", "E3963", "E3964"]);

/** That somebody cancelled a call is no trouble of the server, however often it happens; that a tool failed is the tool's. */
export function tellError(report: ErrorReport, log: Logger): void {
  if (report.code === "E3906") log.debug({ ...report }, "A call was cancelled");
  // As its envelope has it: an ordinary ending, such as an input that the worker does not take.
  else if (report.code === "E3961") log.info({ ...report }, "A worker reported a failure");
  else if (report.code === "E3511") log.warn({ ...report }, "A deterministic tool gave another result");
  else if (OF_TOOLS.has(report.code)) log.warn({ ...report }, "A tool failed");
  else log.error({ ...report }, "Something went wrong inside");
}
