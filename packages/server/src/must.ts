import { type Failure, isFailure, SallyportError } from "@sallyport/protocol";

/** The value, or the refusal as the exception that becomes a problem answer. */
export function must<Value extends object>(value: Value | Failure): Value {
  if (isFailure(value)) throw new SallyportError(value);
  return value;
}
