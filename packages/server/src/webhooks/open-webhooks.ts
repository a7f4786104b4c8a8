import { createWebhookSender, refuseCallbackUrl } from "@sallyport/adapters/webhook";
import { systemClock } from "@sallyport/engine";
import { type ApprovalPass, mintApprovalToken } from "@sallyport/engine/host";
import { type Failure, isFailure } from "@sallyport/protocol";
import type { LoadedConfig } from "../config/load.ts";
import { freshKeys, keyFilesIn, keyFolder, loadKeys } from "../keys/index.ts";
import { must } from "../must.ts";
import { type ApprovalNoticeOptions, openApprovalNotices } from "./approval-notices.ts";
import { hostProblem, refuseHost } from "./callback-hosts.ts";
import { type CallbackOptions, openCallbacks } from "./callbacks.ts";
import { webhookSecrets } from "./configured-secret.ts";
import type { WebhookLog } from "./webhook-log.ts";

/** How long a callback can be due before it is looked for. */
const POLL_MS = 1_000;

interface Collaborators {
  config: LoadedConfig;
  engine: Pick<ApprovalNoticeOptions, "approvals"> & Pick<CallbackOptions, "instance">;
  store: CallbackOptions["store"] & ApprovalNoticeOptions["store"];
  bus: ApprovalNoticeOptions["bus"];
}

interface WebhookOptions {
  log: WebhookLog;
  /** The links that approvers get start with it. Left out: they get no notices. */
  publicUrl?: string | undefined;
}

/** Begins to deliver callbacks and notices. Throws E3227 when there is no secret to sign with. */
export function openWebhooks(
  { config, engine, store, bus }: Collaborators,
  { log, publicUrl }: WebhookOptions,
): { close(): Promise<void> } {
  const { allowPrivate, attempts, timeoutSeconds, callbackHosts } = config.webhooks;
  const secret = must(webhookSecrets(config));
  const sender = createWebhookSender({ secret, allowPrivate, timeoutMs: timeoutSeconds * 1_000 });
  const clock = systemClock;
  const refuse = (url: string) => hostProblem(url, callbackHosts);
  const { approvals, instance } = engine;
  const callbacks = openCallbacks({ store, instance, sender, clock, log, attempts, refuse, pollMs: POLL_MS });
  const mint = minting(config.stateFolder);
  const notices =
    publicUrl === undefined
      ? undefined
      : openApprovalNotices({ approvals, store, bus, sender, clock, log, publicUrl, ...(mint && { mint }) });
  return {
    close: async () => {
      await Promise.all([callbacks.close(), notices?.close()]);
      sender.close();
    },
  };
}

/** Why nobody can be told of a call's end at this address; undefined when somebody can. */
export function refuseCallback(
  url: string,
  { webhooks: { allowPrivate, callbackHosts } }: Pick<LoadedConfig, "webhooks">,
): Failure | undefined {
  return refuseCallbackUrl(url, { allowPrivate }) ?? refuseHost(url, callbackHosts);
}

/** Undefined where there is no key: then approvers get links only. */
function minting(stateFolder: string): ((pass: ApprovalPass) => string) | undefined {
  const folder = keyFolder(stateFolder);
  if (isFailure(loadKeys(folder))) return undefined;
  const keys = freshKeys(() => loadKeys(folder), keyFilesIn(folder));
  return (pass) => mintApprovalToken({ ...pass, issuedAt: systemClock.now() }, keys().current);
}
