import { type Failure, isFailure } from "@sallyport/protocol";
import type { Logger } from "pino";
import type { OpenHouse } from "../compose.ts";
import type { OpenHttp } from "../http/compose-http.ts";
import type { PolicyFiles, Reloaded } from "../policy/policy-files.ts";
import type { ReloadReport } from "../reload/reload-house.ts";

/** Reloads, and writes down what came of it. A server that is still opening reads the newest file anyway. */
export async function tellReload(http: Pick<OpenHttp, "reload"> | undefined, log: Logger): Promise<void> {
  if (!http) return;
  const report = await http.reload().catch((error: unknown) => error);
  if (!isReport(report)) {
    log.error({ err: report }, "The configuration could not be reloaded; it stays as it was");
  } else if (!report.ok) {
    tellProblem(report.failure, log);
  } else {
    const { file, applied, needsRestart, tools } = report;
    log.info({ file, applied, tools }, "The configuration was reloaded");
    if (needsRestart.length > 0) log.warn({ keys: needsRestart }, "These changes count from the next start");
  }
}

function isReport(answer: unknown): answer is ReloadReport {
  return typeof answer === "object" && answer !== null && "ok" in answer;
}

function tellProblem({ code, message, advice, issues = [] }: Failure, log: Logger): void {
  const places = issues.map(({ path, reason, suggestion }) =>
    [path, reason, suggestion].filter((part) => part !== undefined).join(" "),
  );
  log.error({ code, places, advice }, `What was in force stays: ${message}`);
}

/**
 * Follows the configuration in force: its log level, and its rules files, which count as soon as they are written.
 * Returns how to stop.
 */
export function followReloads(house: OpenHouse, log: Logger): () => void {
  let unwatch = watchRules(house.rules, log);
  const unfollow = house.live.follow((config) => {
    log.level = config.log.level;
    unwatch();
    unwatch = watchRules(house.rules, log);
  });
  return () => {
    unfollow();
    unwatch();
  };
}

function watchRules(rules: PolicyFiles | undefined, log: Logger): () => void {
  const tell = (outcome: Reloaded | Failure) => {
    if (isFailure(outcome)) tellProblem(outcome, log);
    else log.info({ versions: outcome.versions }, "The rules were reloaded");
  };
  return rules?.watch({ onReload: tell, onProblem: tell }) ?? (() => undefined);
}
