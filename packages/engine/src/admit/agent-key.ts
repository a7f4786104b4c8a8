/** One text for an agent and its tenant: agents of two tenants may have the same name. */
export function agentKey({ tenant, agent }: { tenant: string; agent: string }): string {
  return JSON.stringify([tenant, agent]);
}

/** Whom a key stands for, to be told to people; a text that is no key stands for itself. */
export function namesIn(key: string): { tenant?: string; agent: string } {
  try {
    const [tenant, agent]: unknown[] = JSON.parse(key);
    if (typeof tenant === "string" && typeof agent === "string") return { tenant, agent };
  } catch {
    // Not made by `agentKey`.
  }
  return { agent: key };
}
