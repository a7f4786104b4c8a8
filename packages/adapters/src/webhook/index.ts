export type { Delivery } from "./delivery.ts";
export { newWebhookSecret, readWebhookSecrets } from "./secret.ts";
export {
  createWebhookSender,
  type WebhookOrder,
  type WebhookSender,
  type WebhookSenderOptions,
} from "./sender.ts";
export { refuseCallbackUrl, type UrlRules } from "./webhook-url.ts";
