import { createWebhookSender, refuseCallbackUrl } from "@sallyport/adapters/webhook";
import { type ApprovalPass, mintApprovalToken, systemClock } from "@sallyport/engine";
import { type Failure, isFailure, SallyportError } from "@sallyport/protocol";
import type { OpenHouse } from "../compose.ts";
import { freshKeys, keyFilesIn, keyFolder, loadKeys } from "../keys/index.ts";
import { type ApprovalNotices, openApprovalNotices } from "./approval-notices.ts";
import { type CallbackHosts, hostProblem, refuseHost } from "./callback-hosts.ts";
import { openCallbacks } from "./callbacks.ts";
import { webhookSecrets } from "./configured-secret.ts";
import type { WebhookLog } from "./webhook-log.ts";

/** How long a callback can be due before it is looked for. */
const POLL_MS = 1_000;

/** Everything this house posts by itself. */
export interface OpenWebhooks {
  /** Why nobody can be told at this address. */
  refuseCallback(url: string): Failure | undefined;
  /** Begins to tell approvers; their links start with this address. */
  announceAt(url: string): void;
  close(): Promise<void>;
}

/** Begins to deliver callbacks. Throws E3227 when there is no secret to sign with. */
export function openWebhooks(
  { config, engine, store, bus }: OpenHouse,
  { log, callbackHosts }: { log: WebhookLog; callbackHosts?: CallbackHosts | undefined },
): OpenWebhooks {
  const { allowPrivate, attempts, timeoutSeconds } = config.webhooks;
  const sender = createWebhookSender({
    secret: must(webhookSecrets(config)),
    allowPrivate,
    timeoutMs: timeoutSeconds * 1_000,
  });
  const clock = systemClock;
  const refuse = (url: string) => hostProblem(url, callbackHosts);
  const callbacks = openCallbacks({ store, sender, clock, log, attempts, refuse, pollMs: POLL_MS });
  let notices: ApprovalNotices | undefined;
  return {
    refuseCallback: (url) => refuseCallbackUrl(url, { allowPrivate }) ?? refuseHost(url, callbackHosts),
    announceAt: (publicUrl) => {
      const mint = minting(config.stateFolder);
      const { approvals } = engine;
      notices ??= openApprovalNotices({
        approvals,
        bus,
        sender,
        clock,
        log,
        publicUrl,
        ...(mint && { mint }),
      });
    },
    close: async () => {
      await Promise.all([callbacks.close(), notices?.close()]);
      sender.close();
    },
  };
}

function must(secrets: string[] | Failure): string[] {
  if (isFailure(secrets)) throw new SallyportError(secrets);
  return secrets;
}

/** Undefined where there is no key: then approvers get links only. */
function minting(stateFolder: string): ((pass: ApprovalPass) => string) | undefined {
  const folder = keyFolder(stateFolder);
  if (isFailure(loadKeys(folder))) return undefined;
  const keys = freshKeys(() => loadKeys(folder), keyFilesIn(folder));
  return (pass) => mintApprovalToken({ ...pass, issuedAt: systemClock.now() }, keys().current);
}
