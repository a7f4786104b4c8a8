import { type Failure, failure, SallyportError } from "@sallyport/protocol";

/** What Fastify refuses by itself, in the catalogue's words. */
const BY_FASTIFY: Readonly<Record<string, () => Failure>> = {
  FST_ERR_CTP_BODY_TOO_LARGE: bodyTooLarge,
  FST_ERR_CTP_INVALID_MEDIA_TYPE: () => failure("E3932"),
  FST_ERR_CTP_INVALID_CONTENT_LENGTH: () => malformed("The body is not as long as Content-Length says."),
  FST_ERR_BAD_URL: () => malformed("The URL holds an escape that stands for no character."),
  FST_ERR_MAX_PARAM_LENGTH: () => failure("E3934", { message: "A part of the URL is too long." }),
};

/** E3902 about a body of too many bytes. */
export function bodyTooLarge(): Failure {
  return failure("E3902", { message: "The body is larger than this server takes (http.bodyBytes)." });
}

/** E3903 about a request that is not even read. */
export function malformed(message: string): Failure {
  return failure("E3903", { message, advice: "Correct the request as the message says and send it again." });
}

/** The failure behind an error; undefined for a defect, of which a client is told nothing. */
export function failureOf(error: unknown): Failure | undefined {
  if (error instanceof SallyportError) return error.failure;
  const known = BY_FASTIFY[codeOf(error)];
  if (known) return known();
  return isClientsFault(error) ? malformed("The request could not be read.") : undefined;
}

/** The code an error carries, or nothing. */
export function codeOf(error: unknown): string {
  const code = error instanceof Error && "code" in error ? error.code : undefined;
  return typeof code === "string" ? code : "";
}

function isClientsFault(error: unknown): boolean {
  const status = error instanceof Error && "statusCode" in error ? error.statusCode : undefined;
  return typeof status === "number" && status >= 400 && status < 500;
}
