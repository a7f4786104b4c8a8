import type { ShownPrompt } from "../keys/approval-prompt.ts";
import type { KeyGuard } from "../keys/key-guard.ts";

/** What a drawing of the prompt shows. */
export interface DrawnPrompt extends Omit<ShownPrompt, "unseen"> {
  /** The places of the questions that are in it. */
  listed: readonly number[];
}

const NOTHING: DrawnPrompt = { fits: false, listed: [], page: 1, most: 0, scopes: "none" };

/**
 * Knows what of a prompt the person has had before their eyes. What is drawn is not seen yet: it is when the terminal
 * has it. When a prompt becomes visible that was not, keys count only after the guard's silence.
 */
export class PromptSight {
  readonly #guard: KeyGuard;
  #drawn: DrawnPrompt | undefined;
  #painted: DrawnPrompt | undefined;
  readonly #seen = new Set<number>();

  constructor(guard: KeyGuard) {
    this.#guard = guard;
  }

  /** Another prompt, of which nothing was seen, or none any more. */
  reset(): void {
    this.#drawn = undefined;
    this.#painted = undefined;
    this.#seen.clear();
    this.#guard.reset();
  }

  /** False when the prompt becomes visible, or stops being so, with this drawing: then keys do not count at first. */
  draws(drawn: DrawnPrompt): boolean {
    this.#drawn = drawn;
    return !this.#changesSight(drawn);
  }

  #changesSight(drawn: DrawnPrompt): boolean {
    return this.#painted !== undefined && this.#painted.fits !== drawn.fits;
  }

  /** What was drawn last is on the screen now. */
  painted(): void {
    if (this.#drawn === undefined) return;
    if (this.#changesSight(this.#drawn)) this.#guard.reset();
    this.#painted = this.#drawn;
    if (this.#drawn.fits) for (const place of this.#drawn.listed) this.#seen.add(place);
    this.#guard.painted();
  }

  /** What the person sees of a prompt with so many questions. What is only drawn counts where it shows less. */
  shown(questions: number): ShownPrompt {
    const { listed: _, ...drawn } = this.#drawn ?? NOTHING;
    const painted = this.#painted ?? NOTHING;
    return {
      ...drawn,
      fits: drawn.fits && painted.fits,
      scopes: painted.scopes === "all" ? drawn.scopes : painted.scopes,
      unseen: questions - this.#seen.size,
    };
  }
}
