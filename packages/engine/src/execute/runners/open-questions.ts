import type { HostMethod } from "./tool-context.ts";

/** How many questions of one call may be open at once. The tool's side queues further ones. */
export const MAX_OPEN_QUESTIONS = 64;
/** Of these, how many about files: each may hold a whole file in memory. */
export const MAX_OPEN_FILES = 2;

/** Counts a call's open questions, so that what the host holds for one tool is bounded. */
export class OpenQuestions {
  #all = 0;
  #files = 0;

  mayOpen(method: HostMethod): boolean {
    if (this.#all >= MAX_OPEN_QUESTIONS) return false;
    return method !== "file" || this.#files < MAX_OPEN_FILES;
  }

  open(method: HostMethod): void {
    this.#all += 1;
    if (method === "file") this.#files += 1;
  }

  close(method: HostMethod): void {
    this.#all -= 1;
    if (method === "file") this.#files -= 1;
  }
}
