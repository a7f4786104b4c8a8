import type { CallRecord } from "@sallyport/engine";
import { invokeResponse } from "@sallyport/protocol";

/** What a callback says: the ToolInvokeResponse that a caller who waited would have got. Undefined before the end. */
export function callbackBody({ closing }: CallRecord): string | undefined {
  return closing && JSON.stringify(invokeResponse(closing.answer));
}
