export { type ApprovalNoticeOptions, type ApprovalNotices, openApprovalNotices } from "./approval-notices.ts";
export { callbackBody } from "./callback-body.ts";
export { type CallbackOptions, type Callbacks, openCallbacks } from "./callbacks.ts";
export type { WebhookLog } from "./webhook-log.ts";
