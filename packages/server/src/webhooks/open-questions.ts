import { levelAt, levelEndsAt } from "@sallyport/engine/host";
import type { ApprovalFilter, ApprovalRecord, Clock, ListPlace } from "@sallyport/engine/ports";

/** Where approvals are read; past their time they are shown as expired. */
export interface Approvals {
  get(approvalId: string): Promise<ApprovalRecord | undefined>;
  list(filter: ApprovalFilter): Promise<ApprovalRecord[]>;
}

export interface OpenQuestionsOptions {
  approvals: Approvals;
  clock: Clock;
  /**
   * Called once for each level an open approval reaches, as long as this process remembers; again, at a later look, when
   * it says that it could not tell the level's people yet.
   */
  onLevel(record: ApprovalRecord, level: number): boolean;
}

/** How far an approval's people have been told. */
interface Told {
  level: number;
  endsAt: number;
}

const PAGE = 200;

/** Follows the open approvals through their levels. */
export class OpenQuestions {
  readonly #options: OpenQuestionsOptions;
  readonly #told = new Map<string, Told>();

  constructor(options: OpenQuestionsOptions) {
    this.#options = options;
  }

  /** When the next level's turn comes; undefined when none does. */
  nextAt(): number | undefined {
    const ends = [...this.#told.values()].map(({ endsAt }) => endsAt);
    return ends.length > 0 ? ends.reduce((one, other) => Math.min(one, other)) : undefined;
  }

  /** Looks at every open approval. */
  async lookAtAll(): Promise<void> {
    const { approvals } = this.#options;
    const seen = new Set<string>();
    for (let before: ListPlace | undefined; ; ) {
      const filter = { states: ["pending" as const], limit: PAGE, ...(before !== undefined && { before }) };
      const page = await approvals.list(filter);
      for (const record of page) {
        seen.add(record.approvalId);
        this.#consider(record);
      }
      const last = page.at(-1);
      if (!last) break;
      before = { at: last.createdAt, id: last.approvalId };
    }
    for (const approvalId of this.#told.keys()) if (!seen.has(approvalId)) this.#told.delete(approvalId);
  }

  /** Looks at those whose level's time is over. */
  async lookAtEnded(): Promise<void> {
    const now = this.#options.clock.now();
    const ended = [...this.#told].filter(([, { endsAt }]) => endsAt <= now);
    for (const [approvalId] of ended) await this.lookAt(approvalId);
  }

  async lookAt(approvalId: string): Promise<void> {
    const record = await this.#options.approvals.get(approvalId);
    if (record) this.#consider(record);
    else this.#told.delete(approvalId);
  }

  #consider(record: ApprovalRecord): void {
    const { clock, onLevel } = this.#options;
    const { approvalId, standing } = record;
    const now = clock.now();
    if (standing.state !== "pending" || now >= record.expiresAt) {
      this.#told.delete(approvalId);
      return;
    }
    const level = levelAt(record, now);
    const before = this.#told.get(approvalId)?.level;
    if (before !== level && !onLevel(record, level)) return;
    this.#told.set(approvalId, { level, endsAt: levelEndsAt(record, now) });
  }
}
