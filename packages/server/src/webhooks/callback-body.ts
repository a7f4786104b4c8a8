import { givenId } from "@sallyport/engine/host";
import type { CallRecord } from "@sallyport/engine/ports";
import { invokeResponse } from "@sallyport/protocol";

/**
 * What a callback says: the ToolInvokeResponse that a caller who waited would have got, with the id it gave. Undefined
 * before the end.
 */
export function callbackBody({ closing, callId }: CallRecord): string | undefined {
  return closing && JSON.stringify(invokeResponse(closing.answer)).replaceAll(callId, givenId(callId));
}
