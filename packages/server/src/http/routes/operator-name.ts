import { failure, SallyportError } from "@sallyport/protocol";
import type { Principal } from "../principal.ts";

/** Who acts, for the record. Whoever is no operator is refused here too, should a route be opened by mistake. */
export function operatorName(principal: Principal): string {
  if (principal.kind === "operator") return principal.name;
  throw new SallyportError(failure("E3940"));
}
