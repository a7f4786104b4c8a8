import type { ApprovalPass } from "@sallyport/engine/host";
import type { TokenClaims } from "@sallyport/engine/ports";

/** Who a request comes from, as far as this door could make sure. */
export type Principal =
  /** Nothing was shown, and the route or the door asks for nothing. */
  | { kind: "anyone" }
  /** Showed a capability token that is genuine; the engine still decides what it is good for. */
  | { kind: "agent"; claims: TokenClaims; token: string }
  /** `session` names the session it came by; without one it showed the operator key itself. */
  | { kind: "operator"; name: string; session?: string }
  /** Showed the token for one approval, at one level. */
  | { kind: "approver"; pass: ApprovalPass };
