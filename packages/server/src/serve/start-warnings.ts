import { existsSync } from "node:fs";
import { join } from "node:path";
import type { OpenHouse } from "../compose.ts";
import { isLoopback } from "../http/kernel/loopback.ts";
import { keyFolder } from "../keys/index.ts";
import { KEY_FILES } from "../keys/key-files.ts";

/** Something that is not wrong enough to stop a start. */
export interface StartWarning {
  message: string;
  advice: string;
}

interface Looked {
  hasSample: boolean;
  isolation: string | undefined;
}

/** What an operator should know of before the first call. */
export function warningsOf(house: OpenHouse, { hasSample, isolation }: Looked): StartWarning[] {
  const { problems, recovered } = house;
  const unknown = recovered.filter(({ verdict }) => verdict === "outcome_unknown").length;
  return [
    ...problems.map(({ code, message, advice }) => ({ message: `${code} ${message}`, advice })),
    ...(unknown > 0
      ? [
          {
            message: `${unknown} interrupted call(s) have an unknown outcome.`,
            advice: "sallyport calls recover",
          },
        ]
      : []),
    ...toolWarnings(house, hasSample),
    ...doorWarnings(house),
    ...(isolation === "LEVEL_2"
      ? []
      : [
          {
            message: "LEVEL_2 isolation cannot be had here; command and script tools are refused.",
            advice: "sallyport doctor says what is missing",
          },
        ]),
  ];
}

function toolWarnings({ engine }: OpenHouse, hasSample: boolean): StartWarning[] {
  if (engine.tools.definitions().length === 0) {
    const advice = "Name modules under `tools`, or begin with an example: sallyport init";
    return [{ message: "There are no tools.", advice }];
  }
  if (hasSample) return [];
  const message = "No tool was found that somebody may call without being asked.";
  return [{ message, advice: "Give a grant under `grants`, or see: sallyport policy explain" }];
}

function doorWarnings({ config }: OpenHouse): StartWarning[] {
  const { host, callers, tls } = config.http;
  if (callers === "open") {
    const message = "Callers are open: every program on this machine may call as any agent.";
    return [{ message, advice: "Set http.callers to token to ask for capability tokens." }];
  }
  const { jwks, publicKeys } = config.tokens;
  const isSigned = existsSync(join(keyFolder(config.stateFolder), KEY_FILES.current));
  const warnings: StartWarning[] = [];
  if (!isSigned && jwks === undefined && publicKeys.length === 0) {
    warnings.push({ message: "There is no key to check tokens with.", advice: "sallyport keys init" });
  }
  if (!tls && !isLoopback(host)) {
    const message = "Tokens travel unencrypted.";
    warnings.push({ message, advice: "Set http.tls, or put something that ends TLS in front." });
  }
  return warnings;
}
