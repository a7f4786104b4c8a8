import type { Trouble } from "./model-failure.ts";

const SAID_SO_FAR = "What was said so far is kept.";

/** What a person can do about a trouble with a model. */
export function adviceFor(trouble: Trouble): string {
  switch (trouble.kind) {
    case "refused":
      return `${byStatus(trouble)} ${SAID_SO_FAR}`;
    case "connection":
      return `Check that the provider runs and that its baseUrl is right. ${SAID_SO_FAR}`;
    case "timeout":
      return `Try again, or give the provider longer with idleSeconds. ${SAID_SO_FAR}`;
    case "protocol":
      return `Check the provider's kind and baseUrl: it does not speak what was expected. ${SAID_SO_FAR}`;
    case "cut":
      return `Send the message again. ${SAID_SO_FAR}`;
    case "aborted":
    case "unknown":
      return `Try again; if it stays, check the model's name, its key and its address. ${SAID_SO_FAR}`;
  }
}

function byStatus({ status, retryAfterMs, retryable }: Trouble): string {
  if (status === 401 || status === 403) return "Check the provider's key and what it may be used for.";
  if (status === 404)
    return "Check the model's name and the provider's baseUrl; a local model may have to be pulled first.";
  if (status === 413) return "Start a new conversation, or set the model's contextTokens.";
  if (status === 429 && !retryable) return "Check the plan and the balance of the provider's account.";
  if (retryAfterMs !== undefined) return `Try again in ${Math.ceil(retryAfterMs / 1_000)} s.`;
  if (retryable) return "Wait a little and try again.";
  return "The provider's own words say what it did not like.";
}
