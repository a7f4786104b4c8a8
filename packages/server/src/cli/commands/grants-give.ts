import type { CapabilityGrant, GrantConstraint, GrantRecord } from "@sallyport/engine/ports";
import type { Failure } from "@sallyport/protocol";
import { Command } from "commander";
import type { EngineAccess } from "../../desk/index.ts";
import { must } from "../../must.ts";
import type { Io } from "../io.ts";
import { Session, withCommonOptions } from "../session.ts";
import { type GiveOptions, granteeOf, withGiveOptions } from "./grant-options.ts";
import { grantDocument, grantText } from "./grant-text.ts";

type GrantDraft = Parameters<EngineAccess["grants"]["issue"]>[0];
type DelegationDraft = Parameters<EngineAccess["grants"]["delegate"]>[1];

const ISSUE_HELP = `
Without --resource, --action and --condition the grant is unrestricted; without --ttl it holds until it is revoked.
  $ sallyport grants issue --capability filesystem.read --tool file.read --resource '/data/*' --ttl 24h
  $ sallyport grants issue --capability network.https --tool web.get --condition 'TIME: hour >= 9 && hour < 17'
  $ sallyport grants issue --capability network.https --tool web.get --constraint rate_limit='{"max":10,"window":60000}'
Conditions and constraints: docs/grants.md`;

export function issueCommand(io: Io): Command {
  const command = new Command("issue")
    .description("issue a grant of a capability")
    .requiredOption("--capability <id>", "which one, exactly: a parent gives none of its children")
    .option("--tenant <id>", "for which tenant (default: the configured one)")
    .addHelpText("after", ISSUE_HELP);
  return withCommonOptions(withGiveOptions(command)).action(
    async (options: GiveOptions & { capability: string; tenant?: string }) => {
      const session = new Session(options, io);
      const { tenant, user = "operator" } = session.caller(
        options.tenant === undefined ? {} : { tenant: options.tenant },
      );
      const draft = issueDraft(options, { tenant, by: user, now: Date.now() });
      await give(session, (desk) => desk.grants.issue(draft));
    },
  );
}

/** What the flags ask for; throws E3921 when they name no holder or several. */
export function issueDraft(
  options: GiveOptions & { capability: string },
  { tenant, by, now }: { tenant: string; by: string; now: number },
): GrantDraft {
  const { resource: resources, action: actions, condition: conditions, constraint: constraints } = options;
  return {
    tenant,
    capabilityId: options.capability,
    grantee: granteeOf(options),
    grantor: { id: by, operator: true },
    scope: { resources, actions, conditions },
    constraints,
    delegatable: options.delegatable === true,
    ...(options.ttl !== undefined && { expiresAt: now + options.ttl }),
  };
}

const DELEGATE_HELP = `
The new grant is a part of the old one: what you do not say is taken over, conditions and constraints you give are
added. It ends before its parent, after 24 hours unless --ttl says otherwise, and with it when that is revoked.
  $ sallyport grants delegate GRANT --tool file.list --resource '/data/reports/*' --ttl 1h`;

export function delegateCommand(io: Io): Command {
  const command = new Command("delegate")
    .description("delegate part of a grant")
    .argument("<grant>", "id of the grant to delegate from")
    .addHelpText("after", DELEGATE_HELP);
  return withCommonOptions(withGiveOptions(command)).action(
    async (parentId: string, options: GiveOptions) => {
      const session = new Session(options, io);
      const by = session.caller({}).user ?? "operator";
      await give(session, async (desk) => {
        const parent = await desk.grants.get(parentId);
        return await desk.grants.delegate(
          parentId,
          delegationDraft(options, { parent, by, now: Date.now() }),
        );
      });
    },
  );
}

async function give(
  session: Session,
  make: (desk: EngineAccess) => Promise<CapabilityGrant | Failure>,
): Promise<void> {
  const grant = must(await session.withEngine(make));
  const now = Date.now();
  session.output.result(grantDocument(grant, now), () => `Gave ${grantText(grant, now)}`);
}

/** The flags on top of what the parent says, so that leaving one out never widens anything. */
export function delegationDraft(
  options: GiveOptions,
  { parent, by, now }: { parent: GrantRecord | undefined; by: string; now: number },
): DelegationDraft {
  const { resource: resources, action: actions, condition, constraint } = options;
  const from = parent?.kind === "capability" ? parent : undefined;
  return {
    grantee: granteeOf(options),
    grantor: { id: by, operator: true },
    scope: {
      ...(resources.length > 0 && { resources }),
      ...(actions.length > 0 && { actions }),
      ...(condition.length > 0 && { conditions: [...(from?.scope.conditions ?? []), ...condition] }),
    },
    ...(constraint.length > 0 && { constraints: overridden(from?.constraints ?? [], constraint) }),
    delegatable: options.delegatable === true,
    ...(options.ttl !== undefined && { expiresAt: now + options.ttl }),
  };
}

function overridden(inherited: readonly GrantConstraint[], own: GrantConstraint[]): GrantConstraint[] {
  return [...inherited.filter(({ type }) => !own.some((other) => other.type === type)), ...own];
}
