import { defaultResource, type Resource, resourceFromAttributes } from "@opentelemetry/resources";
import { type Environment, pairsOf, textOf, type Warn } from "./environment.ts";

export interface Identity {
  /** Tells this process from others of the same service. */
  instance: string;
  version: string;
}

/** Who sends: what OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES say goes before what this house says of itself. */
export function resourceOf(
  env: Environment,
  { instance, version, warn }: Identity & { warn: Warn },
): Resource {
  const serviceName = textOf(env, "OTEL_SERVICE_NAME");
  return defaultResource().merge(
    resourceFromAttributes({
      "service.name": "sallyport",
      "service.version": version,
      "service.instance.id": instance,
      ...pairsOf(env, "OTEL_RESOURCE_ATTRIBUTES", warn),
      ...(serviceName !== undefined && { "service.name": serviceName }),
    }),
  );
}
