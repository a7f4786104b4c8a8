import type { Route } from "../route.ts";
import { approvalAnswerRoutes } from "./approval-answers.ts";
import { approvalTokenRoutes } from "./approval-tokens.ts";
import { approvalRoutes } from "./approvals.ts";
import { auditRoutes } from "./audit.ts";
import { descriptionRoutes } from "./descriptions.ts";
import { domainRoutes } from "./domain.ts";
import { eventRoutes } from "./events.ts";
import { grantRoutes } from "./grants.ts";
import { healthRoutes } from "./health.ts";
import { invocationActionRoutes } from "./invocation-actions.ts";
import { invocationRoutes } from "./invocations.ts";
import { invokeRoutes } from "./invoke.ts";
import { messageRoutes } from "./messages.ts";
import type { RouteContext } from "./parts.ts";
import { runToolRoutes } from "./run-tool.ts";
import { tokenRoutes } from "./tokens.ts";
import { toolRoutes } from "./tools.ts";

export type { DoorEngine, Feed, MetricsPart, ReadinessCheck, RouteContext } from "./parts.ts";

/**
 * Every route of the HTTP door, in the order they are described; `more` are those of other modules, such as sessions. The
 * description that the door serves is of exactly this list.
 */
export function doorRoutes(parts: RouteContext, more: readonly Route[] = []): Route[] {
  const routes: Route[] = [
    ...invokeRoutes(parts),
    ...runToolRoutes(parts),
    ...domainRoutes(parts),
    ...toolRoutes(parts),
    ...invocationRoutes(parts),
    ...invocationActionRoutes(parts),
    ...eventRoutes(parts),
    ...approvalRoutes(parts),
    ...approvalAnswerRoutes(parts),
    ...approvalTokenRoutes(parts),
    ...grantRoutes(parts),
    ...auditRoutes(parts),
    ...tokenRoutes(parts),
    ...messageRoutes(parts),
    ...more,
    ...healthRoutes(parts),
    ...descriptionRoutes(parts, () => routes),
  ];
  return routes;
}
