import { failure, SallyportError } from "@sallyport/protocol";

/** The exception for a question whose answer did not come: what was to be written may still become durable. */
export function unanswered(message: string): SallyportError {
  return new SallyportError(failure("E3914", { message, details: { unanswered: true } }));
}

/** Whether nobody knows what became of a unit. Any other rejection says that it was not written and will not be. */
export function isUnanswered(error: unknown): boolean {
  return error instanceof SallyportError && error.failure.details?.unanswered === true;
}

/** Why the store did not do what it was asked, where it said so in words meant to be read. */
export function reasonOf(error: unknown): string | undefined {
  return error instanceof SallyportError ? error.failure.message : undefined;
}
