import { ModelTrouble } from "./model-trouble.ts";

const MOST_CAUSES = 8;

/** An error and what caused it, outermost first. Bounded: causes may be cyclic. */
export function errorChain(error: unknown): unknown[] {
  const chain: unknown[] = [];
  let current = error;
  while (current !== undefined && current !== null && chain.length < MOST_CAUSES) {
    chain.push(current);
    current = current instanceof Error ? current.cause : undefined;
  }
  return chain;
}

/** What Sallyport itself found, however deep a provider's code wrapped it. */
export function troubleIn(chain: readonly unknown[]): ModelTrouble | undefined {
  return chain.find((link) => link instanceof ModelTrouble);
}

/** The first code of the system or of TLS in the chain, such as ECONNREFUSED. */
export function systemCodeIn(chain: readonly unknown[]): string | undefined {
  for (const link of chain) {
    const code = link instanceof Error && "code" in link ? link.code : undefined;
    if (
      typeof code === "string" &&
      /^(E[A-Z_]+|UND_ERR_\w+|CERT_\w+|\w*SIGNED\w*|UNABLE_TO_\w+|ERR_(TLS|SSL)_\w+)$/.test(code)
    )
      return code;
  }
  return undefined;
}
