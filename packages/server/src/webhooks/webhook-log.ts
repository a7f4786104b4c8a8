/** Where deliveries are reported; pino fits. Facts hold ids and hosts, never a path, a query, a token or a body. */
export interface WebhookLog {
  info(facts: object, message: string): void;
  warn(facts: object, message: string): void;
}

/** The host of a URL, with its port: all of it that is logged, because a path can be a secret. */
export function hostOf(url: string): string {
  return URL.parse(url)?.host ?? "";
}
