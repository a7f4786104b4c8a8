import { domainField, failure, SallyportError } from "@sallyport/protocol";
import { defineRoute, type Route } from "../route.ts";
import type { RouteContext } from "./parts.ts";

/** `GET /v1/domain` (AX-DOM-1). */
export function domainRoutes({ gateway }: RouteContext): Route[] {
  return [
    defineRoute({
      id: "getDomain",
      method: "GET",
      path: "/v1/domain",
      tag: "Tools",
      summary: "Say which domain this gateway serves",
      description: "A client that has the catalogue of this domain and version need not ask for it again.",
      access: "caller",
      answers: { 200: { description: "The domain.", schema: domainField } },
      handle: () => {
        if (!gateway) throw new SallyportError(noGateway());
        const { id, version } = gateway.domain;
        return { status: 200, body: { domain_id: id, version } };
      },
    }),
  ];
}

function noGateway() {
  return failure("E3930", {
    message: "This server serves no domain: it is not a gateway.",
    advice: "Start one with `sallyport gateway --domain FOLDER`, or list the tools at /v1/tools.",
  });
}
